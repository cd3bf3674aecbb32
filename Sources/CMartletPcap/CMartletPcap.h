// libpcap, of which MartletDecode uses the functions that read capture files.
#include <pcap/pcap.h>
