import {
  allowInsecureRequests,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  customFetch,
  None,
  PrivateKeyJwt,
  type ServerMetadata,
} from "openid-client";
import type { OAuthFlows, SecurityScheme } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../../core/error.js";
import { parseUrl } from "../../core/net.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { parsedJson } from "../../wire/parsed-json.js";
import { comparableHost } from "../hosts.js";
import type { HttpClient } from "../platform.js";
import { type IssuerFetch, issuerFetch } from "./issuer-fetch.js";
import { checkUrl, type IssuerPlace, issuerPlace, untrusted } from "./issuer-place.js";
import type { OAuthLimits, OAuthOptions } from "./options.js";

/** Endpoints, by their names in metadata (RFC 8414, 2; RFC 8628, 4). */
const endpoints = ["token_endpoint", "authorization_endpoint", "device_authorization_endpoint"] as const;
type Endpoint = (typeof endpoints)[number];
/** Further metadata of an issuer that are used. */
const used = [
  "authorization_response_iss_parameter_supported",
  "token_endpoint_auth_methods_supported",
  "token_endpoint_auth_signing_alg_values_supported",
  "id_token_signing_alg_values_supported",
] as const;

/** An issuer and its configurations. */
export interface KnownIssuer {
  /** Configuration for tokens and sign-in pages. */
  readonly config: Configuration;
  /** Configuration for refreshing tokens. */
  readonly refreshing: Configuration;
  /** True if its metadata were read; otherwise a card names its endpoints. */
  readonly isDescribed: boolean;
}

/** Returns the configuration of a scheme's issuer. Metadata are cached for a while. */
export class Issuers {
  readonly #options: OAuthOptions;
  readonly #limits: OAuthLimits;
  readonly #described = new Map<string, { readonly at: number; readonly metadata: ServerMetadata }>();

  constructor(options: OAuthOptions, limits: OAuthLimits) {
    this.#options = options;
    this.#limits = limits;
  }

  /** @throws A2AError, or an error of the library */
  async of(scheme: SecurityScheme, http: HttpClient): Promise<KnownIssuer> {
    const place = issuerPlace(scheme, this.#options);
    const metadata = place.documents.length === 0 ? undefined : await this.#metadata(place, http);
    const flows = scheme.scheme.case === "oauth2SecurityScheme" ? scheme.scheme.value.flows : undefined;
    const all = { ...this.#named(flows, place, metadata), ...metadata };
    const server: ServerMetadata = { ...all, issuer: metadata?.issuer ?? all.token_endpoint ?? "" };
    const refreshUrl = this.#refreshUrl(flows, server, place, metadata !== undefined);
    const isDescribed = metadata !== undefined;
    const config = this.#configuration(server, http, isDescribed);
    const refreshing =
      refreshUrl === undefined
        ? config
        : this.#configuration({ ...server, token_endpoint: refreshUrl }, http, isDescribed);
    return { config, refreshing, isDescribed };
  }

  /**
   * Returns the endpoints from the card: none if the caller named the issuer, and none on other hosts than the
   * issuer's.
   */
  #named(flows: OAuthFlows | undefined, { isPinned }: IssuerPlace, metadata: ServerMetadata | undefined) {
    const named = isPinned ? {} : this.#checked(fromFlows(flows));
    if (metadata === undefined) return named;
    const { origin } = new URL(metadata.token_endpoint ?? metadata.issuer);
    return Object.fromEntries(Object.entries(named).filter(([, url]) => new URL(url).origin === origin));
  }

  async #metadata(place: IssuerPlace, http: HttpClient): Promise<ServerMetadata> {
    const [first = ""] = place.documents;
    const known = this.#described.get(first);
    if (known !== undefined && performance.now() - known.at < this.#limits.metadataMs) return known.metadata;
    try {
      const metadata = await this.#describe(place, issuerFetch(http, { limits: this.#limits }));
      this.#described.delete(first);
      if (this.#described.size >= this.#limits.maxAgents) this.#described.clear();
      this.#described.set(first, { at: performance.now(), metadata });
      return metadata;
    } catch (error) {
      // Endpoints seldom change, so the cached ones are used during an outage.
      if (known === undefined || !(error instanceof A2AError) || error.reason !== "UNAVAILABLE") throw error;
      return known.metadata;
    }
  }

  async #describe(place: IssuerPlace, fetch: IssuerFetch): Promise<ServerMetadata> {
    const { documents } = place;
    for (const [i, url] of documents.entries()) {
      const headers = { accept: "application/json" };
      const answer = await fetch(url, { method: "GET", headers, body: undefined, redirect: "manual" });
      if (answer.status === 404 && i + 1 < documents.length) continue;
      if (answer.status !== 200) {
        throw new A2AError("UNAVAILABLE", `The issuer's metadata cannot be read: status ${answer.status}.`);
      }
      return this.#read(await answer.text(), place);
    }
    throw new A2AError("UNAVAILABLE", "The issuer has no metadata.");
  }

  #read(text: string, { issuers, isPinned }: IssuerPlace): ServerMetadata {
    const json = objectOf(text);
    const { issuer } = json;
    // RFC 8414, 3.3: otherwise one issuer could have the client's secret sent to another.
    if (typeof issuer !== "string" || !issuers.some((it) => isSameUrl(it, issuer))) {
      throw untrusted("it is not the issuer that its metadata are asked of");
    }
    const rest = Object.fromEntries(used.filter((name) => json[name] !== undefined).map((name) => [name, json[name]]));
    const named = this.#checked(json);
    if (isPinned) for (const [name, url] of Object.entries(named)) this.#checkHost(name, url, issuer);
    return { ...rest, ...named, issuer };
  }

  /** Checks an endpoint's host: by naming the issuer, the caller named the host that receives secrets. */
  #checkHost(name: string, url: string, issuer: string): void {
    const hosts = [issuer, ...(this.#options.issuerHosts ?? []).map((host) => `https://${host}`)].map(comparableHost);
    const host = comparableHost(url);
    if (!hosts.includes(host)) {
      throw untrusted(`its ${name} is on another host, ${host}, which has to be allowed (issuerHosts: ["${host}"])`);
    }
  }

  /** Returns the endpoints of an object, checking that each may receive secrets. */
  #checked(from: Readonly<Record<string, unknown>>): Partial<Record<Endpoint, string>> {
    const found = endpoints
      .map((name) => [name, from[name]] as const)
      .filter(([, url]) => url !== undefined && url !== "");
    for (const [name, url] of found) checkUrl(name, url, this.#options);
    return Object.fromEntries(found) as Partial<Record<Endpoint, string>>;
  }

  /** Returns the card's refresh URL, if it is at the issuer, where that is known. */
  #refreshUrl(flows: OAuthFlows | undefined, server: ServerMetadata, place: IssuerPlace, isDescribed: boolean) {
    const { value } = flows?.flow ?? {};
    const url = value !== undefined && "refreshUrl" in value ? value.refreshUrl : "";
    if (url === "" || place.isPinned || url === server.token_endpoint) return undefined;
    checkUrl("refreshUrl", url, this.#options);
    const isElsewhere = isDescribed && new URL(url).origin !== new URL(server.token_endpoint ?? url).origin;
    return isElsewhere ? undefined : url;
  }

  #configuration(server: ServerMetadata, http: HttpClient, isDescribed: boolean): Configuration {
    const { clientId } = this.#options;
    const config = new Configuration(server, clientId, undefined, this.#authentication(server));
    config.timeout = this.#limits.issuerTimeoutMs / 1_000;
    config[customFetch] = issuerFetch(http, { limits: this.#limits, withoutIdToken: !isDescribed });
    // Each URL was checked above; the library does not distinguish loopback from other hosts.
    if (this.#options.allowLocalIssuer === true) allowInsecureRequests(config);
    return config;
  }

  #authentication(server: ServerMetadata): ReturnType<typeof None> {
    const { clientSecret, privateKey, secretIn } = this.#options;
    if (privateKey !== undefined) return PrivateKeyJwt(privateKey);
    if (clientSecret === undefined) return None();
    const known = server.token_endpoint_auth_methods_supported;
    const isPostOnly = known?.includes("client_secret_post") === true && !known.includes("client_secret_basic");
    const place = secretIn ?? (isPostOnly ? "post" : "basic");
    return place === "post" ? ClientSecretPost(clientSecret) : ClientSecretBasic(clientSecret);
  }
}

function fromFlows(flows: OAuthFlows | undefined): Partial<Record<Endpoint, string>> {
  const { value } = flows?.flow ?? {};
  if (value === undefined) return {};
  return {
    ...("tokenUrl" in value && { token_endpoint: value.tokenUrl }),
    ...("authorizationUrl" in value && { authorization_endpoint: value.authorizationUrl }),
    ...("deviceAuthorizationUrl" in value && { device_authorization_endpoint: value.deviceAuthorizationUrl }),
  };
}

function objectOf(text: string): Record<string, unknown> {
  const json = parsedJson(text);
  if (isJsonObject(json)) return json;
  throw untrusted("its metadata are not a JSON object");
}

const isSameUrl = (one: string, other: string): boolean => parseUrl(other) !== undefined && bare(one) === bare(other);
const bare = (url: string): string => new URL(url).href.replace(/\/$/, "");
