import type { AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { sendingIn } from "../version/example-request.js";
import { PROTOCOL_VERSION } from "../version/v1.js";

type Interface = AgentCard["supportedInterfaces"][number];

const titles: ReadonlyMap<string, string> = new Map([
  ["JSONRPC", "JSON-RPC"],
  ["HTTP+JSON", "HTTP+JSON (REST)"],
  ["GRPC", "gRPC"],
  ["urn:parley:binding:connect:v1", "Connect and gRPC-Web"],
]);

/** The usual name of an interface's binding, with the version of the protocol unless it is 1.0. */
export function titleOf({ protocolBinding, protocolVersion }: Interface): string {
  const title = titles.get(protocolBinding) ?? protocolBinding;
  return protocolVersion === PROTOCOL_VERSION ? title : `${title}, A2A ${protocolVersion}`;
}

/** Schemes of the first requirement of a card; none if a requirement needs no credentials. */
function firstSchemes({ securityRequirements, securitySchemes }: AgentCard) {
  if (securityRequirements.some(({ schemes }) => Object.keys(schemes).length === 0)) return [];
  return Object.keys(securityRequirements[0]?.schemes ?? {}).map((name) => securitySchemes[name]?.scheme);
}

/** Headers with placeholders for the credentials that the first requirement of a card asks for in headers and cookies. */
export function shownCredentials(card: AgentCard): readonly string[] {
  return firstSchemes(card).flatMap((scheme) => {
    switch (scheme?.case) {
      case "httpAuthSecurityScheme":
        return `authorization: ${scheme.value.scheme} ${/^basic$/i.test(scheme.value.scheme) ? "BASE64" : "TOKEN"}`;
      case "oauth2SecurityScheme":
      case "openIdConnectSecurityScheme":
        return "authorization: Bearer TOKEN";
      case "apiKeySecurityScheme":
        return keyHeader(scheme.value);
      default:
        return [];
    }
  });
}

function keyHeader({ location, name }: { readonly location: string; readonly name: string }): string | [] {
  if (location === "query") return [];
  return location === "cookie" ? `cookie: ${name}=KEY` : `${name}: KEY`;
}

/** Query with placeholders for the API keys that the first requirement of a card asks for there; empty for none. */
export function shownQuery(card: AgentCard): string {
  const keys = firstSchemes(card).flatMap((scheme) =>
    scheme?.case === "apiKeySecurityScheme" && scheme.value.location === "query"
      ? `${encodeURIComponent(scheme.value.name)}=KEY`
      : [],
  );
  return keys.length === 0 ? "" : `?${keys.join("&")}`;
}

/**
 * The header for the credentials that the reader enters: the header of an API key if the card asks for none in
 * `Authorization`.
 */
export function credentialHeader({ securityRequirements, securitySchemes }: AgentCard): string {
  const names = securityRequirements.flatMap(({ schemes }) => Object.keys(schemes));
  const schemes = names.map((name) => securitySchemes[name]?.scheme);
  const keys = schemes.flatMap((scheme) =>
    scheme?.case === "apiKeySecurityScheme" && scheme.value.location === "header" ? [scheme.value.name] : [],
  );
  const others = schemes.some(
    (scheme) => scheme?.case !== "apiKeySecurityScheme" && scheme?.case !== "mtlsSecurityScheme",
  );
  return others ? "authorization" : (keys[0] ?? "authorization");
}

/**
 * Returns a shell command that sends a message; undefined for a binding or version that has none.
 *
 * @param headers further headers, after those of the binding
 * @param query query of the URL, which gRPC does not have
 */
export function shellCommand(
  { protocolBinding, protocolVersion, url, tenant }: Interface,
  headers: readonly string[] = [],
  query = "",
): string | undefined {
  const sending = sendingIn(protocolVersion, tenant);
  if (sending === undefined) return undefined;
  const { jsonRpc, rest, rpc } = sending;
  // The package of 1.0's gRPC methods contains the version, so these calls need no header.
  const called = protocolVersion === PROTOCOL_VERSION ? headers : [...sending.headers, ...headers];
  const shown = (all: readonly string[]): string => all.map((header) => `-H ${quoted(header)} `).join("");
  const curl = (to: string, body: object): string =>
    `curl -s ${quoted(to + query)} ${shown(["content-type: application/json", ...sending.headers, ...headers])}-d ${quoted(JSON.stringify(body))}`;
  switch (protocolBinding) {
    case "JSONRPC":
      return curl(url, { jsonrpc: "2.0", id: 1, ...jsonRpc });
    case "HTTP+JSON":
      return rest && curl(url + rest.path, rest.body);
    case "urn:parley:binding:connect:v1":
      return rpc && curl(`${url}/${rpc.path}`, rpc.request);
    case "GRPC":
      return (
        rpc &&
        `grpcurl ${url.startsWith("https:") ? "" : "-plaintext "}${shown(called)}-d ${quoted(JSON.stringify(rpc.request))} ${url.replace(/^https?:\/\//, "")} ${rpc.path}`
      );
    default:
      return undefined;
  }
}

/** Quotes a text for a shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
