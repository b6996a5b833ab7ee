import { A2AError } from "../../core/error.js";
import { isLoopback } from "../hosts.js";
import type { OAuthOptions } from "./options.js";

/** An issuer to whom no secrets are sent. */
export const untrusted = (why: string): A2AError =>
  new A2AError("UNAUTHENTICATED", `The issuer of tokens is not trusted: ${why}.`);

const address = /^(?:\[.*\]|[\d.]+)$/;

/** @throws A2AError for a URL that is not https, or that leads to this machine or a plain address, as a card of somebody else may say. */
export function checkUrl(name: string, url: unknown, { allowLocalIssuer = false }: OAuthOptions): void {
  if (typeof url !== "string" || !URL.canParse(url)) throw untrusted(`${name} is no absolute URL`);
  const { protocol, hostname, username, password } = new URL(url);
  if (username !== "" || password !== "") throw untrusted(`${name} has credentials in it`);
  const isHere = isLoopback(url);
  if (protocol !== "https:" && !(protocol === "http:" && isHere && allowLocalIssuer))
    throw untrusted(`${name} is not https${isHere ? ", which allowLocalIssuer allows on this machine" : ""}`);
  if ((isHere || address.test(hostname)) && !allowLocalIssuer) {
    throw untrusted(`${name} leads to this machine or an address (allowLocalIssuer)`);
  }
}
