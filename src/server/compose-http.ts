import type { ConnectRouter } from "@connectrpc/connect";
import type { Compression } from "@connectrpc/connect/protocol";
import { type BelowTenants, belowTenants, optionsBelowTenants } from "../binding/below-tenants.js";
import type { BindingOptions, HttpBinding } from "../binding/binding.js";
import { type ConnectBinding, createConnectBinding } from "../binding/connect/binding.js";
import { isGrpc } from "../binding/connect/refusal.js";
import { createJsonRpcBinding } from "../binding/jsonrpc/binding.js";
import { createRestBinding } from "../binding/rest/binding.js";
import type { CardSigner } from "../card/signing/signer.js";
import type { ConnectRemote } from "../delegation/remotes.js";
import { createCors } from "../http/cors.js";
import type { Dispatch, StaticRoute } from "../http/dispatch.js";
import { createHostCheck } from "../http/hosts.js";
import { createCardRoute, createKeysRoute } from "./card-route.js";
import { createDispatch, type DispatchOptions } from "./dispatch.js";
import type { Settings } from "./options.js";
import { createPageRoute } from "./page-route.js";
import type { Proxies } from "./proxies.js";
import type { PublicAddress } from "./public-address.js";
import type { publicKeysOf } from "./public-keys.js";
import { publicTenants } from "./public-tenants.js";
import type { PushModules } from "./push-modules.js";
import { refusalAudit, withRefusals } from "./refusals.js";
import { createResourceRoute } from "./resource-route.js";
import { takenTenants } from "./versions-to-name.js";

/** What differs between runtimes. */
export interface RuntimeParts {
  /** Makes the client of another agent. Default: agents call no others. */
  readonly connect?: ConnectRemote;
  /** What push notifications need. Default: none are sent. */
  readonly push?: PushModules;
  /** Headers of every answer over TLS. */
  readonly secureHeaders?: Readonly<Record<string, string>>;
  /** Compressions for calls of Connect and gRPC-Web. Default: none. */
  readonly compressions?: readonly Compression[];
  /** Registers further services with Connect's router. */
  readonly more?: ((router: ConnectRouter) => void) | undefined;
}

/** What HTTP is answered by. */
export interface HttpComponents {
  readonly connect: ConnectBinding;
  /** Makes the HTTP dispatch, with these routes before that of the card. */
  readonly dispatch: (routes: readonly StaticRoute[]) => Dispatch;
}

/** What the HTTP parts are connected with. */
interface Others {
  readonly binding: BindingOptions;
  readonly address: PublicAddress;
  readonly proxies: Proxies;
  readonly signer: CardSigner | undefined;
  readonly publicKeys: ReturnType<typeof publicKeysOf>;
}

/** Creates the bindings and routes of HTTP, in the order in which a request is tried on them. */
export function composeHttp(
  settings: Settings,
  parts: RuntimeParts,
  { binding, address, proxies, signer, publicKeys }: Others,
): HttpComponents {
  const connect = createConnectBinding(binding, { compressions: parts.compressions ?? [], more: parts.more });
  const rest = createRestBinding(binding);
  const jsonRpc = createJsonRpcBinding(binding);
  const tenants = tenantsOf(settings, binding);
  const cards = [createCardRoute(settings, address, signer)];
  if (publicKeys !== undefined) cards.push(createKeysRoute(settings, publicKeys));
  const page = settings.page ? [createPageRoute(settings, address)] : [];
  const dispatch = (routes: readonly StaticRoute[]): Dispatch => {
    const answering = createDispatch({
      hosts: createHostCheck({ allowed: settings.allowedHosts }),
      routes: [...routes, ...cards, createResourceRoute(settings, address), ...page],
      bindings: [connect, jsonRpc, ...orderOf(settings, rest, tenants)],
      fallback: {
        notFound: (request) =>
          connect.unserved(request) ??
          jsonRpc.unserved(request) ??
          tenants?.unserved(request) ??
          rest.notFound(request),
        refuse: (request, error) => (isGrpc(request) ? connect : rest).refuse(request, error),
      },
      basePath: settings.basePath,
      cors:
        settings.cors === undefined
          ? undefined
          : createCors(settings.cors, keyHeaders(settings), versionHeaders(settings)),
      headers: { "x-content-type-options": "nosniff", ...(settings.tls !== undefined && parts.secureHeaders) },
      forwarded: forwardedHeadersOf(settings, proxies, parts.secureHeaders),
    });
    const { audit } = settings;
    const watched = binding.refused === undefined ? answering : withRefusals(answering, binding.refused);
    return audit === undefined ? watched : { ...watched, refused: refusalAudit(audit, proxies) };
  };
  return { connect, dispatch };
}

/** URLs of tenants, where there are versions that have no other word for one. */
function tenantsOf(settings: Settings, binding: BindingOptions): BelowTenants | undefined {
  const { agents, versions } = settings;
  if (agents.anyTenant || !versions.others.some(({ isUnnamed }) => isUnnamed)) return undefined;
  const options = optionsBelowTenants(binding);
  const below = { jsonRpc: createJsonRpcBinding(options), rest: createRestBinding(options) };
  return belowTenants(below, publicTenants(settings));
}

/**
 * URLs of tenants come last, so that calls of the server itself do not pay for them. A tenant whose path is that of a version comes before
 * what takes all that is below it.
 */
function orderOf(settings: Settings, rest: HttpBinding, tenants: BelowTenants | undefined): readonly HttpBinding[] {
  if (tenants === undefined) return [rest];
  return takenTenants(settings).length > 0 ? [tenants, rest] : [rest, tenants];
}

/** What a server in the clear says where a trusted proxy says that its client uses TLS. */
function forwardedHeadersOf(
  { tls, trust }: Settings,
  proxies: Proxies,
  secureHeaders: Readonly<Record<string, string>> = {},
): DispatchOptions["forwarded"] {
  if (tls !== undefined || trust === undefined || Object.keys(secureHeaders).length === 0) return undefined;
  return { headers: secureHeaders, isSecure: (request) => proxies.isSecure(request) };
}

/** Headers that other versions have for extensions. */
function versionHeaders({ versions }: Settings): string[] {
  return [...new Set(versions.others.flatMap(({ extensionsParameter }) => extensionsParameter ?? []))];
}

/** The request headers that the cards name for API keys: scripts of other origins must be able to send them. */
function keyHeaders({ agents }: Settings): string[] {
  const schemes = agents.all.flatMap(({ card }) => Object.values(card.securitySchemes)).map(({ scheme }) => scheme);
  return schemes.flatMap((scheme) =>
    scheme.case === "apiKeySecurityScheme" && scheme.value.location === "header" ? [scheme.value.name] : [],
  );
}
