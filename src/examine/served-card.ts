import type { AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { FoundCard } from "../client/discovery/discovery.js";
import { comparableHost } from "../client/hosts.js";
import type { HttpAnswer, HttpClient } from "../client/platform.js";
import { isLoopback, parseUrl, withoutSecrets } from "../core/net.js";
import { EARLIER_CARD_PATH } from "../version/client-versions.js";
import { WELL_KNOWN_PATH } from "../wire/card-names.js";
import { isJsonObject } from "../wire/json-struct.js";
import { parsedJson } from "../wire/parsed-json.js";
import { excerpt, type Finding, type Rule } from "./check.js";
import { type WireExchange, withHeader } from "./wire.js";

/** State that the checks of a card share. */
export interface CardProbe {
  readonly found: FoundCard;
  /** The card's request and answer; undefined for a file. */
  readonly exchange: WireExchange | undefined;
  readonly http: HttpClient;
  readonly signal: AbortSignal;
}

/** A check of the card or of its HTTP answer. */
export interface CardCheck extends Rule {
  readonly run: (probe: CardProbe) => Finding | Promise<Finding>;
}

/** Maximum size of a second answer, in bytes. */
const MAX_BYTES = 1024 * 1024;

const notServed: Finding = { skipped: "the card is a file" };

const served =
  (judge: (exchange: WireExchange, probe: CardProbe) => Finding | Promise<Finding>): CardCheck["run"] =>
  (probe) =>
    probe.exchange === undefined ? notServed : judge(probe.exchange, probe);

/** Checks of the card, besides its members. */
export const cardChecks: readonly CardCheck[] = [
  {
    name: "place",
    section: "8.2",
    requirement: `the card is at ${WELL_KNOWN_PATH}`,
    mend: `serve the card at ${WELL_KNOWN_PATH}; clients of 1.0 look nowhere else`,
    run: ({ found }) => {
      if (found.url === undefined) return notServed;
      const { pathname } = new URL(found.url);
      if (pathname.endsWith(EARLIER_CARD_PATH))
        return { fault: `it is at ${EARLIER_CARD_PATH}, the path of older versions` };
      return pathname.endsWith(WELL_KNOWN_PATH) ? undefined : { skipped: "the card was named by its URL" };
    },
  },
  {
    name: "redirect",
    isAdvice: true,
    section: "8.2",
    requirement: "the card is on the host that is asked",
    mend: "serve the card itself: credentials and logins belong to one origin",
    run: ({ found }) => {
      if (found.url === undefined || found.asked === undefined) return notServed;
      const { origin } = new URL(found.url);
      return origin === new URL(found.asked).origin ? undefined : { fault: `the request is redirected to ${origin}` };
    },
  },
  {
    name: "card-type",
    isAdvice: true,
    section: "8.2",
    requirement: "the card has the media type application/json",
    mend: "set Content-Type: application/json",
    run: served(({ mediaType }) =>
      /^application\/(?:[\w.-]+\+)?json$/.test(mediaType) ? undefined : { fault: `it is ${mediaType || "missing"}` },
    ),
  },
  {
    name: "cache",
    isAdvice: true,
    section: "8.6.1",
    requirement: "the card has a Cache-Control with max-age",
    mend: "set Cache-Control: max-age=… to the time for which a change may go unnoticed",
    run: served(({ headers }) => {
      const control = headers.get("cache-control");
      if (control === null) return { fault: "Cache-Control is missing" };
      return /\bmax-age=\d+/.test(control) ? undefined : { fault: `Cache-Control is ${excerpt(control)}` };
    }),
  },
  {
    name: "etag",
    isAdvice: true,
    section: "8.6.1",
    requirement: "the card has an ETag, which stays the same while the card does",
    mend: "derive the ETag from the text of the card",
    run: served(async (exchange, probe) => {
      const tag = exchange.headers.get("etag");
      if (tag === null) return { fault: "ETag is missing" };
      const again = await askAgain(exchange, probe, undefined);
      const text = await again.text(MAX_BYTES);
      const other = again.headers.get("etag");
      if (text !== exchange.body) return { skipped: "the card changed between two requests" };
      return other === tag ? undefined : { fault: `the same card has ${tag}, then ${other ?? "none"}` };
    }),
  },
  {
    name: "not-modified",
    isAdvice: true,
    section: "8.6.2",
    requirement: "a request with the ETag of the card gets 304",
    mend: "compare If-None-Match with the ETag, and answer 304 without a body",
    run: served(async (exchange, probe) => {
      const tag = exchange.headers.get("etag");
      if (tag === null) return { skipped: "ETag is missing" };
      const again = await askAgain(exchange, probe, tag);
      const { status } = again;
      again.cancel();
      return status === 304 ? undefined : { fault: `the status is ${status}` };
    }),
  },
  {
    name: "interfaces",
    section: "8.3.1",
    requirement: "the card names each interface once",
    mend: "remove interfaces of the same URL, binding, version and tenant",
    run: ({ found }) => {
      const names = found.card.supportedInterfaces.map(
        ({ url, protocolBinding, protocolVersion, tenant }) =>
          `${protocolBinding} ${protocolVersion} at ${withoutSecrets(url)}${tenant === "" ? "" : ` of ${tenant}`}`,
      );
      const twice = names.find((name, at) => names.indexOf(name) < at);
      return twice === undefined ? undefined : { fault: `${twice} is there twice` };
    },
  },
  {
    name: "interface-hosts",
    section: "8.3.1",
    requirement: "interfaces have addresses that callers can reach",
    mend: "put the public URL of the agent into its card, not the address that it listens at",
    run: ({ found }) => {
      if (found.url === undefined || isLoopback(found.url)) return { skipped: "the card is on this machine" };
      const own = found.card.supportedInterfaces.find(({ url }) => isOwnAddress(url));
      return own === undefined ? undefined : { fault: `${withoutSecrets(own.url)} is an address of one machine` };
    },
  },
  {
    name: "encryption",
    section: "7.1",
    requirement: "the card and the interfaces are served over TLS",
    mend: "serve https, by a proxy or the agent itself",
    run: ({ found }) => {
      const all = [found.url ?? "", ...found.card.supportedInterfaces.map(({ url }) => url)];
      const plain = all.find((url) => url.startsWith("http:") && !isLoopback(url));
      if (plain !== undefined) return { fault: `${withoutSecrets(plain)} is not encrypted` };
      return all.some((url) => isLoopback(url)) ? { skipped: "the agent is on this machine" } : undefined;
    },
  },
  {
    name: "login",
    section: "4.5",
    requirement: "the metadata of OAuth 2.0 and OpenID Connect can be read",
    mend: "put the URL of the issuer's metadata into the card, and serve it",
    run: async (probe) => {
      const urls = metadataUrls(probe.found.card);
      if (urls.length === 0) return { skipped: "the card names none" };
      const faults = await Promise.all(urls.map((url) => faultOfMetadata(url, probe)));
      const some = faults.filter((each) => each !== undefined);
      return some.length === 0 ? undefined : { fault: some.join("; ") };
    },
  },
];

/** Requests the card as before. @param tag of the answer that is known */
function askAgain({ ask }: WireExchange, { http, signal }: CardProbe, tag: string | undefined): Promise<HttpAnswer> {
  const again = tag === undefined ? ask : withHeader(ask, "if-none-match", tag);
  return http({ ...again, signal });
}

/** True for addresses that mean a different machine to each caller: loopback and wildcard addresses. */
function isOwnAddress(url: string): boolean {
  const parsed = parseUrl(/^[a-z]+:\/\//i.test(url) ? url : `http://${url}`);
  if (parsed === undefined) return false;
  return isLoopback(parsed.href) || ["0.0.0.0", "[::]"].includes(parsed.hostname);
}

function metadataUrls({ securitySchemes }: AgentCard): readonly string[] {
  return Object.values(securitySchemes).flatMap(({ scheme }) => {
    if (scheme.case === "openIdConnectSecurityScheme") return [scheme.value.openIdConnectUrl];
    const url = scheme.case === "oauth2SecurityScheme" ? scheme.value.oauth2MetadataUrl : "";
    return url === "" ? [] : [url];
  });
}

/** Requests the metadata of an issuer: from its own host, or over TLS. */
async function faultOfMetadata(url: string, { http, signal, found }: CardProbe): Promise<string | undefined> {
  const shown = withoutSecrets(url);
  const isOwn = found.url !== undefined && comparableHost(found.url) === comparableHost(url);
  if (parseUrl(url)?.protocol !== "https:" && !isOwn && !isLoopback(url)) return `${shown} is not an https URL`;
  try {
    const answer = await http({ url, method: "GET", headers: new Map([["accept", "application/json"]]), signal });
    const text = await answer.text(MAX_BYTES);
    if (answer.status !== 200) return `${shown} has the status ${answer.status}`;
    const json = parsedJson(text);
    return isJsonObject(json) && typeof json.issuer === "string" ? undefined : `${shown} names no issuer`;
  } catch {
    signal.throwIfAborted();
    return `${shown} cannot be read`;
  }
}
