import { absent, all, each, exactly, having, items, like, not, type Pattern, present } from "../../support/match.js";
import type { RawCase } from "./raw-case.js";

const path = "/.well-known/agent-card.json";
const ok = { status: 200, got: { "content-type": like(/^application\/json(;|$)/) } } as const;

/** A request without this header gets a card that also suits older versions. */
const native = { headers: { "A2A-Version": "1.0" } } as const;

/** One interface for each binding, all of them with the tenant or without one. */
function interfaces(tenant: Pattern): Pattern {
  const http = like(/^http:\/\/127\.0\.0\.1:\d+$/);
  const entry = (url: Pattern, protocolBinding: Pattern): Pattern =>
    exactly({ url, protocolBinding, protocolVersion: "1.0", ...(tenant === absent ? {} : { tenant }) });
  return all(
    items(4),
    having(entry(like(/^127\.0\.0\.1:\d+$/), "GRPC")),
    having(entry(http, "JSONRPC")),
    having(entry(http, "HTTP+JSON")),
    having(entry(http, like(/^urn:\S+:v\d+$/))),
    each({ protocolVersion: not(like(/\..*\./)) }),
  );
}

/** The public card: its URL, content and caching. */
export const cardCases: readonly RawCase[] = [
  {
    name: "the card is at the well-known path and has what is required",
    ids: [
      "SRV-CARD-01",
      "SRV-CARD-02",
      "SRV-CARD-03",
      "SRV-CARD-04",
      "SRV-CARD-06",
      "SRV-CARD-07",
      "SRV-CARD-08",
      "SRV-CARD-09",
      "SRV-CARD-10",
      "SRV-CARD-11",
      "SRV-CARD-21",
      "SRV-CUST-01",
      "SRV-CUST-10",
      "SRV-CUST-12",
      "SRV-GEN-07",
      "SRV-JSON-01",
      "SRV-JSON-11",
      "SRV-VER-05",
    ],
    steps: [
      {
        send: `GET ${path}`,
        ...native,
        ...ok,
        json: exactly({
          name: "main",
          description: "The main agent of tests.",
          version: "1.2.3",
          supportedInterfaces: interfaces(absent),
          capabilities: exactly({
            streaming: true,
            pushNotifications: false,
            extendedAgentCard: false,
            extensions: having({ uri: "urn:parley:ext:resume:v1" }),
          }),
          defaultInputModes: ["text/plain", "application/json"],
          defaultOutputModes: ["text/plain"],
          skills: [exactly({ id: "obey", name: "Obey", description: like(/\S/), tags: ["test"] })],
        }),
      },
    ],
  },
  {
    name: "the card says what the agent demands and what it lacks",
    ids: ["SRV-EXT-01", "SRV-EXT-06", "SRV-CUST-08"],
    setup: "demanding",
    steps: [
      {
        send: `GET ${path}`,
        ...ok,
        json: {
          capabilities: {
            extensions: all(
              having({ uri: "urn:example:ext:must:v1", required: true }),
              having({ uri: "urn:example:ext:may:v1", required: absent }),
            ),
          },
        },
      },
    ],
  },
  {
    name: "the card of an agent that does not stream says so",
    ids: ["SRV-CARD-03", "SRV-CUST-08"],
    setup: "unstreamed",
    steps: [{ send: `GET ${path}`, ...ok, json: { capabilities: { streaming: false } } }],
  },
  {
    name: "the card is for everybody, and says how to be let in",
    ids: ["SRV-CARD-01", "SRV-CARD-13", "SRV-CARD-14", "SRV-AUTH-03"],
    setup: "owners",
    steps: [
      {
        send: `GET ${path}`,
        ...native,
        ...ok,
        json: {
          securitySchemes: { bearer: exactly({ httpAuthSecurityScheme: exactly({ scheme: "Bearer" }) }) },
          securityRequirements: [{ schemes: { bearer: present } }],
          capabilities: { extendedAgentCard: true },
          skills: not(having({ id: "extra" })),
          signatures: absent,
        },
      },
    ],
  },
  {
    name: "each agent has a card with its tenant, the first one at the root",
    ids: ["SRV-CARD-07", "SRV-TEN-02"],
    setup: "departments",
    steps: [
      { send: `GET ${path}`, ...native, ...ok, json: { name: "billing", supportedInterfaces: interfaces("billing") } },
      {
        send: `GET /billing${path}`,
        ...native,
        ...ok,
        json: { name: "billing", supportedInterfaces: interfaces("billing") },
      },
      {
        send: `GET /support${path}`,
        ...native,
        ...ok,
        json: { name: "support", supportedInterfaces: interfaces("support") },
      },
    ],
  },
  {
    name: "the card is no operation: it needs no version",
    ids: ["SRV-CARD-01", "SRV-VER-02"],
    setup: "strict",
    steps: [null, "", "0.3", "9.9"].map((version) => ({
      send: `GET ${path}`,
      headers: { "A2A-Version": version },
      ...ok,
    })),
  },
  {
    name: "the card may be kept, and asked for again",
    ids: ["SRV-CARD-16", "SRV-CARD-17", "SRV-CARD-18", "SRV-CARD-19"],
    steps: [
      {
        send: `GET ${path}`,
        status: 200,
        got: { "cache-control": like(/max-age=\d+/), etag: like(/^(W\/)?"\S+"$/), "last-modified": like(/GMT$/) },
        json: present,
      },
      { send: `GET ${path}`, headers: { "If-None-Match": "*" }, status: 304, text: "" },
      { send: `GET ${path}`, headers: { "If-None-Match": '"other"' }, status: 200 },
      { send: `GET ${path}`, headers: { "If-Modified-Since": "Fri, 31 Dec 9999 23:59:59 GMT" }, status: 304, text: "" },
      { send: `GET ${path}`, headers: { "If-Modified-Since": "Thu, 01 Jan 1970 00:00:00 GMT" }, status: 200 },
      { send: `HEAD ${path}`, ...ok, text: "" },
      { send: `POST ${path}`, body: "{}", status: 405, got: { allow: like(/GET/) } },
    ],
  },
];
