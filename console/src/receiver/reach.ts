import { isLoopback } from "../../../src/core/net.js";

/** IPv4 addresses that are not public, names of inner networks, and IPv6 addresses other than global ones. */
const inner =
  /^(?:10|127|169\.254|192\.168|172\.(?:1[6-9]|2\d|3[01])|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))\.|^[^.:]+$|\.(?:localhost|local|internal|lan|home\.arpa)$|^\[(?![23])/;

/** True if the agent runs elsewhere and the address is on this machine. */
export const isOutOfReach = (address: string, agent: string | undefined): boolean =>
  agent !== undefined && isLoopback(address) && !isLoopback(agent);

/** Returns the flags of a Parley agent that may send to an address; undefined for one that it permits by default. */
export function flagsFor(address: string): string | undefined {
  const { protocol, hostname, port } = new URL(address);
  const isPlain = protocol === "http:";
  const flags = [
    isPlain && "--push-allow-http",
    port !== "" && `--push-ports ${port}`,
    inner.test(hostname) && `--push-allow ${hostname}`,
  ].filter((flag) => flag !== false);
  return flags.length === 0 ? undefined : `--push ${flags.join(" ")}`;
}
