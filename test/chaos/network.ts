import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";

/** Address of the clients, which run in this process. */
export const CLIENTS = "10.77.0.1";
export const DATABASE = "10.77.0.2";
export const SIGNALS = "10.77.0.3";
export const addressOf = (replica: number): string => `10.77.0.${11 + replica}`;

/** Directions in which a link is cut. */
export type Way = "both" | "to" | "from";

/** A host with its own network namespace, connected to the others by a bridge. */
export class Host {
  readonly name: string;
  readonly address: string;

  private constructor(name: string, address: string) {
    this.name = name;
    this.address = address;
  }

  /**
   * Creates a host. Needs a process with its own network namespace (`unshare --net --mount`), whose end removes the
   * host.
   */
  static make(name: string, address: string): Host {
    ip("netns", "add", name);
    ip("link", "add", "name", `v-${name}`, "type", "veth", "peer", "name", "eth0", "netns", name);
    ip("link", "set", `v-${name}`, "master", "bridge", "up");
    ip("-n", name, "addr", "add", `${address}/24`, "dev", "eth0");
    ip("-n", name, "link", "set", "eth0", "up");
    ip("-n", name, "link", "set", "lo", "up");
    const host = new Host(name, address);
    host.#nft("add table inet chaos");
    for (const hook of ["input", "output"]) {
      host.#nft(`add chain inet chaos ${hook} { type filter hook ${hook} priority 0 ; }`);
    }
    return host;
  }

  /** Command prefix that runs a command on this host with the same process id. */
  get inside(): string[] {
    return ["nsenter", `--net=/run/netns/${this.name}`];
  }

  /** Drops packets to a peer, from it, or both. Like a pulled cable, it reports no error. */
  cut(peer: string, way: Way = "both"): void {
    if (way !== "from") this.#nft(`add rule inet chaos output ip daddr ${peer} drop`);
    if (way !== "to") this.#nft(`add rule inet chaos input ip saddr ${peer} drop`);
  }

  /** Drops a share of the packets from a peer, in percent. */
  lose(peer: string, percent: number): void {
    this.#nft(`add rule inet chaos input ip saddr ${peer} numgen random mod 100 < ${percent} drop`);
  }

  /** Refuses a peer's new connections to a port and resets the open ones. */
  refuse(peer: string, port: number): void {
    this.#nft(`add rule inet chaos input ip saddr ${peer} tcp dport ${port} reject with tcp reset`);
  }

  /** Delays outgoing packets: with netem if the kernel has it, or else by limiting the bandwidth. */
  slow(): void {
    const netem = ["qdisc", "replace", "dev", "eth0", "root", "netem", "delay", "150ms", "50ms", "loss", "2%"];
    if (spawnSync("tc", ["-n", this.name, ...netem], { stdio: "ignore" }).status === 0) return;
    const narrow = ["rate", "512kbit", "burst", "4kbit", "latency", "600ms"];
    execFileSync("tc", ["-n", this.name, "qdisc", "replace", "dev", "eth0", "root", "tbf", ...narrow]);
  }

  /** Ends all faults of this host. */
  heal(): void {
    this.#nft("flush chain inet chaos input");
    this.#nft("flush chain inet chaos output");
    spawnSync("tc", ["-n", this.name, "qdisc", "del", "dev", "eth0", "root"], { stdio: "ignore" });
  }

  #nft(command: string): void {
    const [program = "", ...args] = [...this.inside, "nft", command];
    execFileSync(program, args, { stdio: ["ignore", "ignore", "pipe"] });
  }
}

/** Creates the bridge in the network namespace of this process. */
export function makeBridge(): void {
  mkdirSync("/run/netns", { recursive: true });
  execFileSync("mount", ["-t", "tmpfs", "tmpfs", "/run/netns"]);
  ip("link", "set", "lo", "up");
  ip("link", "add", "name", "bridge", "type", "bridge");
  ip("addr", "add", `${CLIENTS}/24`, "dev", "bridge");
  ip("link", "set", "bridge", "up");
}

function ip(...args: string[]): void {
  execFileSync("ip", args, { stdio: ["ignore", "ignore", "pipe"] });
}
