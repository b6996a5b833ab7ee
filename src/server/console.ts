import { AdminAccess } from "../admin/access.js";
import { operatorAudit } from "../admin/audit.js";
import { Throttle } from "../auth/throttle.js";
import type { HttpBinding } from "../binding/binding.js";
import { createConnectBinding } from "../binding/connect/binding.js";
import { ConsoleAccess, type LoginChecks, linkScheme } from "../console/access.js";
import { Console } from "../console/console.js";
import { LinkToken } from "../console/link-token.js";
import type { ConsoleAgent } from "../console/options.js";
import { Relay } from "../console/relay.js";
import type { SeenOrigin } from "../console/same-origin.js";
import { A2AError } from "../core/error.js";
import { type Forwarded, forwardedBy } from "../http/forwarded.js";
import type { HttpRequest } from "../http/request.js";
import type { HttpResponse } from "../http/response.js";
import { TargetGuard } from "../push/target/guard.js";
import { PROMETHEUS_TYPE, prometheusText } from "../telemetry/prometheus.js";
import { type AdminComponents, adminBindingOptions, adminCompressions } from "./admin.js";
import { newMetrics } from "./gauges.js";
import type { ConsoleSettings, Settings } from "./options.js";
import { createProxies } from "./proxies.js";

/** A console and the tokens of its links. */
export interface ComposedConsole {
  readonly console: Console;
  /** Undefined for a console that opens by credentials only. */
  readonly link: LinkToken | undefined;
}

export interface ConsolePlace {
  /** Returns the agents for a console whose server is below a path. */
  readonly agents: (mount: string) => readonly ConsoleAgent[];
  /** Receives each one-time token after the first. */
  readonly onNextToken: (token: string) => void;
}

/** Creates the console of a server, with the operator's service of that in it. */
export function composeConsole(
  settings: Settings,
  { isLocal }: ConsoleSettings,
  components: AdminComponents,
  { agents, onNextToken }: ConsolePlace,
): ComposedConsole {
  const { limits, logger } = settings;
  const audit = operatorAudit(settings.audit);
  const throttle = new Throttle(limits, components.engine.signals, "console");
  const link = isLocal ? new LinkToken(onNextToken) : undefined;
  const checks: LoginChecks = {
    ...(link !== undefined && { token: linkAccess(link, { limits, logger, audit }) }),
    ...(hasCredentials(settings) && {
      admin: new AdminAccess(settings.admin.access, { limits, logger, audit, throttle }),
    }),
  };
  const { peerOf } = createProxies(settings.trust, settings.proxyHeaders);
  const access = new ConsoleAccess({ checks, peerOf, audit });
  const admin = consoleAdmin(settings, access, components);
  const relay = new Relay(isLocal ? undefined : new TargetGuard({}));
  const seenOf = seenBy(settings);
  const isProxy = settings.trust;
  return { console: new Console({ access, relay, admin, agents, seenOf, limits, isProxy, logger }), link };
}

/** Returns the check of one-time tokens, which counts and audits failed attempts like that of operators. */
export function linkAccess(link: LinkToken, parts: ConstructorParameters<typeof AdminAccess>[1]): AdminAccess {
  const security = { schemes: { link: linkScheme(link) } };
  return new AdminAccess({ security, roles: { read: "read", write: "write" } }, parts);
}

/** True if operators have credentials. Over a socket without them, everyone who may open it is an operator. */
export function hasCredentials<T extends Pick<Settings, "admin">>(
  settings: T,
): settings is T & { readonly admin: NonNullable<Settings["admin"]> } {
  const { tokens, tokensFile, security } = settings.admin?.access ?? {};
  return (tokens ?? tokensFile ?? security) !== undefined;
}

/** Returns the operator's service for the sessions of a console, with the metrics, which every server with a console counts. */
function consoleAdmin(
  settings: Settings,
  access: ConsoleAccess,
  components: AdminComponents,
): (request: HttpRequest) => Promise<HttpResponse> {
  const { metrics = newMetrics(settings.versions), admin } = settings;
  const parts = { ...components, metrics, backupFolder: admin?.backupFolder };
  const options = adminBindingOptions(settings, access, parts);
  const connect: HttpBinding = createConnectBinding(options, { compressions: adminCompressions });
  return async (request) => {
    if (request.method === "GET" && request.target.path === "/metrics") {
      return { status: 200, type: PROMETHEUS_TYPE, body: await prometheusText(metrics) };
    }
    const match = connect.match(request.method, request.target.path);
    if (match === undefined) throw new A2AError("METHOD_NOT_FOUND", "Method not found.");
    request.prepare();
    return connect.handle(request, match);
  };
}

/** Returns a function that finds the origin as the browser of a request sees it. */
function seenBy({ trust, proxyHeaders }: Pick<Settings, "trust" | "proxyHeaders">) {
  return (request: HttpRequest): SeenOrigin => {
    const { peer } = request;
    const header = (name: string): string | undefined => request.header(name);
    const found: Partial<Forwarded> = (trust && forwardedBy({ header, mount: "", ...peer }, trust, proxyHeaders)) ?? {};
    const scheme = found.proto ?? (peer.encrypted ? "https" : "http");
    const host = found.host ?? header(":authority") ?? "";
    return { isSecure: scheme === "https", host, prefix: found.prefix ?? "" };
  };
}
