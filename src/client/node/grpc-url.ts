import { A2AError } from "../../core/error.js";
import { isLoopback } from "../hosts.js";

/**
 * The URL for an address of gRPC as cards have it: `host:port`, `dns:///host:port`, or a URL of HTTP (specification 8.5). What has no
 * scheme is called with TLS, unless it is this machine or `plaintext` says otherwise.
 *
 * @throws A2AError with reason INVALID_REQUEST for any other.
 */
export function grpcUrl(address: string, plaintext?: boolean): string {
  const named = /^(https?|grpcs?):\/\/(.+)$/i.exec(address);
  const [, scheme, rest = address.replace(/^dns:(?:\/\/[^/]*\/)?/i, "")] = named ?? [];
  const isPlain = scheme === undefined ? (plaintext ?? isLoopback(`http://${rest}`)) : /^(?:http|grpc)$/i.test(scheme);
  const text = `${isPlain ? "http" : "https"}://${rest}`;
  if (!URL.canParse(text) || /^[a-z][a-z0-9+.-]*:\//i.test(rest)) {
    throw new A2AError("INVALID_REQUEST", `${address.slice(0, 200)} is no address of gRPC that is known here.`);
  }
  const { origin, pathname, search } = new URL(text);
  return origin + (pathname === "/" ? "" : pathname) + search;
}
