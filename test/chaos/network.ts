import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";

/** Address of the clients, which run in this process. */
export const CLIENTS = "10.77.0.1";
export const DATABASE = "10.77.0.2";
export const SIGNALS = "10.77.0.3";
export const addressOf = (replica: number): string => `10.77.0.${11 + replica}`;

/** Direction in which a link is cut. */
export type Way = "both" | "to" | "from";

/** A host with a network of its own, on a bridge to the others. */
export class Host {
  readonly name: string;
  readonly address: string;

  private constructor(name: string, address: string) {
    this.name = name;
    this.address = address;
  }

  /** Makes a host. The process has to be in a network of its own (`unshare --net --mount`), with which all of it ends. */
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

  /** A command that runs another one there, under the same process id. */
  get inside(): string[] {
    return ["nsenter", `--net=/run/netns/${this.name}`];
  }

  /** Drops what goes to a peer, comes from it, or both; silently, as a cable that is pulled does. */
  cut(peer: string, way: Way = "both"): void {
    if (way !== "from") this.#nft(`add rule inet chaos output ip daddr ${peer} drop`);
    if (way !== "to") this.#nft(`add rule inet chaos input ip saddr ${peer} drop`);
  }

  /** Loses a share of what comes from a peer, in percent. */
  lose(peer: string, percent: number): void {
    this.#nft(`add rule inet chaos input ip saddr ${peer} numgen random mod 100 < ${percent} drop`);
  }

  /** Refuses connections of a peer at a port, and ends those that are open. */
  refuse(peer: string, port: number): void {
    this.#nft(`add rule inet chaos input ip saddr ${peer} tcp dport ${port} reject with tcp reset`);
  }

  /** Delays what leaves: by netem where the kernel has it, or by a line so narrow that packets wait for each other. */
  slow(): void {
    const netem = ["qdisc", "replace", "dev", "eth0", "root", "netem", "delay", "150ms", "50ms", "loss", "2%"];
    if (spawnSync("tc", ["-n", this.name, ...netem], { stdio: "ignore" }).status === 0) return;
    const narrow = ["rate", "512kbit", "burst", "4kbit", "latency", "600ms"];
    execFileSync("tc", ["-n", this.name, "qdisc", "replace", "dev", "eth0", "root", "tbf", ...narrow]);
  }

  /** Ends all of that. */
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

/** Makes the bridge, in the network of this process alone. */
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
