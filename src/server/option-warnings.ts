import { namingSchemes, sharedNameWarnings } from "../auth/security.js";
import type { AgentRegistration } from "../card/agents.js";
import { isLoopback, isLoopbackHost } from "../core/net.js";
import { usesApi } from "../telemetry/choice.js";
import type { Settings } from "./options.js";
import { takenTenants } from "./public-tenants.js";
import { tlsWarnings } from "./tls.js";

/** Returns warnings about options that are allowed but probably a mistake. */
export function warningsOf(settings: Settings, listens: boolean): string[] {
  const { agents, service, host, publicUrl, trust, tls, push } = settings;
  const isPublic = listens && !isLoopbackHost(host);
  const isWildcard = ["0.0.0.0", "::"].includes(host);
  const warnings = [
    ...(tls === undefined ? [] : tlsWarnings(tls)),
    ...risksOf(settings, listens),
    ...takenTenants(settings),
    ...agents.all.flatMap(({ agent: { security } }) =>
      security === undefined ? [] : sharedNameWarnings(namingSchemes(security)),
    ),
  ];
  if (isPublic && isWildcard && publicUrl === undefined && trust === undefined) {
    warnings.push(
      "the cards name localhost, where other machines cannot reach the server: set the publicUrl (--public-url) that clients use",
    );
  }
  warnings.push(...(listens ? grpcAddressWarnings(settings) : []));
  if (isPublic && push !== undefined && push.signing === undefined) {
    warnings.push("push notifications are not signed: receivers can only check their token (push.signing)");
  }
  const wantsCertificates = agents.all.some(({ card }) =>
    Object.values(card.securitySchemes).some(({ scheme }) => scheme.case === "mtlsSecurityScheme"),
  );
  if (listens && wantsCertificates && tls?.ca === undefined) {
    warnings.push(
      "no caller can show a certificate for mutualTlsScheme: the server has no authorities for them (tls.ca)",
    );
  }
  const undeclared = undeclaredOf(settings);
  if (service.authenticator !== undefined) {
    const silent = undeclared.filter(({ card }) => Object.keys(card.securitySchemes).length === 0);
    return [
      ...warnings,
      ...silent.map(
        ({ card }) => `the card of ${card.name} has no securitySchemes: clients cannot know how to authenticate`,
      ),
    ];
  }
  if (undeclared.some(({ extendedCard }) => extendedCard !== undefined)) {
    warnings.push(
      "no caller can get the extendedCard: it is for authenticated callers, and nothing authenticates them",
    );
  }
  return warnings;
}

/** Returns warnings about a gRPC address with the port of this server, which a proxy in front of it rarely has. */
function grpcAddressWarnings({ publicUrl, grpcPublicUrl, grpcPort, cardGrpc, trust, port }: Settings): string[] {
  if (publicUrl === undefined || grpcPublicUrl !== undefined || grpcPort === undefined || cardGrpc !== "address")
    return [];
  const url = new URL(publicUrl);
  const isDirect = trust === undefined && Number(url.port || (url.protocol === "https:" ? 443 : 80)) === port;
  if (isDirect || isLoopback(publicUrl)) return [];
  return [
    `the cards name gRPC at ${url.hostname}:${grpcPort || "<port>"}, the port of this server and not of a proxy: set ` +
      "grpcPublicUrl (--grpc-public-url) to the address that clients use, or leave it out (--card-grpc omit)",
  ];
}

/** Returns warnings about open access and about credentials in cleartext. They are printed even without a logger. */
export function risksOf(settings: Settings, listens: boolean): string[] {
  const { host, publicUrl, trust, tls, push, admin } = settings;
  const isPublic = listens && !isLoopbackHost(host);
  // The URL of an embedded handler shows whether others can reach it. Without a URL this is unknown.
  const isOutside = isPublic || (publicUrl !== undefined && !isLoopback(publicUrl));
  const risks: string[] = [];
  const isOpen = settings.service.authenticator === undefined && undeclaredOf(settings).length > 0;
  if (isOutside && isOpen) {
    risks.push(
      `other machines can reach the server at ${isPublic ? host : publicUrl}, and with neither security on the agent nor an authenticator anyone can read and cancel every task`,
    );
  }
  if ((isOutside || !listens) && isOpen && push !== undefined) {
    risks.push(
      "push notifications are sent for unauthenticated callers: anyone who reaches the server can make it send requests",
    );
  }
  if (isPublic && !isOpen && tls === undefined && trust === undefined) {
    risks.push(
      `credentials travel to ${host} in the clear: set tls (--tls-cert, --tls-key), or trustProxy where a proxy speaks TLS`,
    );
  }
  const { address } = admin ?? {};
  if (address !== undefined && "host" in address && !isLoopbackHost(address.host) && tls === undefined) {
    risks.push(
      `operators' tokens travel to ${address.host} in the clear: set tls (--tls-cert, --tls-key), or listen on a Unix socket`,
    );
  }
  return risks;
}

/** Returns warnings about options that a program can use in its code, but that have no effect for `parley serve`. */
export function commandWarnings({ servesMetrics, admin, telemetry }: Settings): string[] {
  const isRead = admin !== undefined || usesApi(telemetry);
  return servesMetrics && !isRead
    ? ["nothing reads the metrics: add the operator's service (--admin), or an SDK of OpenTelemetry"]
    : [];
}

function undeclaredOf({ agents }: Settings): readonly AgentRegistration[] {
  return agents.all.filter(({ agent }) => agent.security === undefined);
}
