"""Two network namespaces and the simulated path between them.

    client                      net
    wlan0 10.77.1.2 ── veth ── vwlan0 ─► nft drops ─► twlan0: delay, bandwidth ─► 10.77.0.1, the relay and the echo
    wwan0 10.77.2.2 ── veth ── vwwan0 ◄─ nft drops ◄─ twwan0: delay, bandwidth ◄─

The client is an ordinary machine with two interfaces. All faults are on the other side: packets of a veth are sent
through a TUN, which delay.py reads and writes back later, and then to the relay. Packets of the relay pass the same TUN
and then the veth. Dropped packets cause no error on either side.
"""

import asyncio
import fcntl
import json
import os
import struct

from sandbox import Namespace, NotPermitted

SERVER = "10.77.0.1"
TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
PER_MILLE = 1000


class Path:
    """A path to the relay: an interface of the client and its peer."""

    def __init__(self, number, interface, metric):
        self.number = number
        self.interface = interface
        self.veth, self.tun = f"v{interface}", f"t{interface}"
        self.client, self.gateway = f"10.77.{number}.2", f"10.77.{number}.1"
        self.metric = metric
        self.loss = 0.0
        self.is_dark = False


class Air:
    """Both namespaces and their paths; `paths` by the interface of the client."""

    def __init__(self, settings=None):
        self.client, self.net = Namespace(), Namespace()
        self.paths = {path.interface: path for path in (Path(1, "wlan0", 600), Path(2, "wwan0", 700))}
        self.tuns = {name: self._open_tun(path.tun) for name, path in self.paths.items()}
        # Early demultiplexing would find the socket before the packet has passed the path, and drop the packet.
        self.net.set({"net.ipv4.ip_forward": 1, "net.ipv4.ip_early_demux": 0})
        for namespace in (self.client, self.net):
            namespace.set({"net.ipv6.conf.all.disable_ipv6": 1} | (settings or {}))
        self._make_net()
        self.client.run("ip", "-batch", "-", text="link set lo up\n" + self._up("wlan0"))
        self.net.run("nft", "-f", "-", text=self._tables())

    def _open_tun(self, name):
        try:
            with self.net.inside():
                descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
                fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
        except OSError as error:
            raise NotPermitted(f"/dev/net/tun: {error.strerror}") from None
        return descriptor

    def _make_net(self):
        lines = ["link set lo up", f"addr add {SERVER}/32 dev lo"]
        for path in self.paths.values():
            number, veth, tun = path.number, path.veth, path.tun
            lines += [
                f"link add {veth} type veth peer name {path.interface} netns /proc/self/fd/{self.client.descriptor}",
                f"addr add {path.gateway}/24 dev {veth} noprefixroute",
                f"link set {veth} up",
                f"link set {tun} up",
                # Packets of the client enter the path, packets of the path go to the client, all others are routed
                # normally.
                f"route add {SERVER} dev {tun} table {100 + number}",
                f"rule add pref {10 + number} iif {veth} to {SERVER} lookup {100 + number}",
                f"route add {path.client} dev {veth} table {200 + number}",
                f"rule add pref {20 + number} iif {tun} to {path.client} lookup {200 + number}",
                f"route add {path.client} dev {tun} src {SERVER}",
            ]
        # By default the rule for local addresses has the highest priority, and packets of the client would bypass the
        # path.
        lines += ["rule add pref 100 lookup local", "rule del pref 0"]
        self.net.run("ip", "-batch", "-", text="\n".join(lines) + "\n", also=[self.client])
        for path in self.paths.values():
            self.net.set({f"net.ipv4.conf.{path.tun}.accept_local": 1})
            self.net.set({f"net.ipv4.conf.{name}.rp_filter": 0 for name in ("all", path.veth, path.tun)})

    def _up(self, interface):
        path = self.paths[interface]
        return (
            f"link set {interface} up\naddr add {path.client}/24 dev {interface}\n"
            f"route add default via {path.gateway} dev {interface} metric {path.metric}\n")

    # Actions of a scenario

    async def interface(self, name, is_up):
        """Adds or removes the address and the route of the client's interface."""
        await self._run(self.client, "ip", "-batch", "-", text=self._up(name) if is_up else (
            f"addr flush dev {name}\nlink set {name} down\n"))

    async def weather(self, interface, loss=None, is_dark=None):
        """Drops packets of this path with a probability, 1 for all."""
        path = self.paths[interface]
        path.loss = path.loss if loss is None else loss
        path.is_dark = path.is_dark if is_dark is None else is_dark
        text = "".join(f"flush chain ip weather {path.interface}_{way}\n{self._rules(path, way)}" for way in WAYS)
        await self._run(self.net, "nft", "-f", "-", text=text)

    def _tables(self):
        text = "add table ip weather\n"
        text += "add chain ip weather up { type filter hook prerouting priority -300; }\n"
        text += "add chain ip weather down { type filter hook forward priority 0; }\n"
        for path in self.paths.values():
            for way, match in WAYS.items():
                name = f"{path.interface}_{way}"
                text += f"add counter ip weather {name}_all\nadd counter ip weather {name}_lost\n"
                text += f"add chain ip weather {name}\n{self._rules(path, way)}"
                text += f"add rule ip weather {way} {match} {path.veth} jump {name}\n"
        return text

    def _rules(self, path, way):
        name = f"{path.interface}_{way}"
        chance = "" if path.is_dark else f"numgen random mod {PER_MILLE} < {round(path.loss * PER_MILLE)} "
        text = f"add rule ip weather {name} counter name {name}_all\n"
        if path.is_dark or path.loss > 0:
            text += f"add rule ip weather {name} {chance}counter name {name}_lost drop\n"
        return text

    async def packets(self):
        """The number of packets and of dropped packets since the last call, by path and direction."""
        listed = json.loads(await self._run(self.net, "nft", "--json", "reset", "counters"))["nftables"]
        return {item["counter"]["name"]: item["counter"]["packets"] for item in listed if "counter" in item}

    async def _run(self, namespace, *words, text=""):
        process = await asyncio.create_subprocess_exec(
            *namespace.command(*words), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE, pass_fds=[namespace.descriptor])
        output, errors = await process.communicate(text.encode())
        if process.returncode != 0:
            raise RuntimeError(f"{words[0]}: {errors.decode().strip()}")
        return output


# The match of a veth's packets, by direction.
WAYS = {"up": "iifname", "down": "oifname"}
