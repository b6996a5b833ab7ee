import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { createElement, type FC } from "react";
import { renderToString } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { aiAgent, askUser } from "../../src/ai/index.js";
import * as auth from "../../src/auth/index.js";
import { signCard, verifyCard } from "../../src/card/index.js";
import { chatTransport } from "../../src/client/ai-sdk/index.js";
import * as client from "../../src/client/index.js";
import * as oauth from "../../src/client/oauth/index.js";
import { useConversation } from "../../src/client/react/index.js";
import { createFetchA2A } from "../../src/fetch.js";
import { createA2A, createServer, text } from "../../src/index.js";
import { createPushReceiver } from "../../src/push-receiver/index.js";
import { natsSignals } from "../../src/signals/nats/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { postgresStore } from "../../src/store/postgres/index.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { testAgent } from "../../src/testing/index.js";
import { cardJson } from "../client/card-server.js";
import { obedient } from "../conformance/agents.js";

/** A function with options, its wrong options, and the names that its error has for them. */
interface Row {
  readonly call: (options: never) => unknown;
  /** Options that are required, or an example of others. */
  readonly valid?: object;
  /** A misspelt option, and the nearest one. */
  readonly misspelt: readonly [string, string];
  /** An option with a value of a wrong type. */
  readonly wrong: readonly [string, unknown];
}

const agent = obedient("checked");
const store = memoryStore();

/** Schemes report their faults to the server, which names all of them. */
const secured =
  (scheme: (options: never) => auth.SecurityScheme) =>
  (options: never): unknown =>
    createA2A({ agent: { ...agent, security: { schemes: { it: scheme(options) } } }, store });

const card = fromJson(AgentCardSchema, cardJson() as JsonValue);
const issuer = { issuer: "https://issuer.example", audience: "agents" };
const sent: Pick<Row, "misspelt" | "wrong"> = { misspelt: ["allowHttps", "allowHttp"], wrong: ["allowHttp", "false"] };
const flow = { clientId: "me", clientSecret: "secret" };
const storage = new Map<string, string>();
const opened = (options: never): unknown => oauth.authorizationCode({ ...flow, storage }).begin(signedIn, options);
const signedIn = { card, interface: { url: "https://agent.example" } };

const rows: Readonly<Record<string, Row>> = {
  createServer: { call: createServer, valid: { agent, store }, misspelt: ["prt", "port"], wrong: ["port", "x"] },
  createA2A: { call: createA2A, valid: { agent, store }, misspelt: ["limit", "limits"], wrong: ["limits", 1] },
  createFetchA2A: { call: createFetchA2A, valid: { agent, store }, misspelt: ["corss", "cors"], wrong: ["cors", 1] },
  text: {
    call: (options) => text(ReadableStream.from([]), options).next(),
    misspelt: ["windowMS", "windowMs"],
    wrong: ["maxChars", "many"],
  },
  testAgent: { call: (options) => testAgent(agent, options), misspelt: ["cller", "caller"], wrong: ["caller", "me"] },
  aiAgent: {
    call: aiAgent,
    valid: { card: agent.card, model: "m" },
    misspelt: ["maxStep", "maxSteps"],
    wrong: ["maxSteps", "many"],
  },
  askUser: { call: askUser, misspelt: ["from", "form"], wrong: ["description", 1] },
  apiKeyScheme: {
    call: secured(auth.apiKeyScheme),
    valid: { in: "header", name: "x-key", keys: [] },
    misspelt: ["keyz", "keys"],
    wrong: ["keys", "key"],
  },
  httpBearerScheme: {
    call: secured(auth.httpBearerScheme),
    valid: { tokens: [] },
    misspelt: ["relm", "realm"],
    wrong: ["realm", 1],
  },
  httpBasicScheme: {
    call: secured(auth.httpBasicScheme),
    valid: { users: [] },
    misspelt: ["relm", "realm"],
    wrong: ["users", {}],
  },
  jwtScheme: {
    call: secured(auth.jwtScheme),
    valid: { ...issuer, jwks: "https://issuer.example/jwks" },
    misspelt: ["algorithm", "algorithms"],
    wrong: ["algorithms", "RS256"],
  },
  oauth2Scheme: {
    call: secured(auth.oauth2Scheme),
    valid: { ...issuer, flows: { clientCredentials: { tokenUrl: "https://issuer.example/token", scopes: {} } } },
    misspelt: ["introspect", "introspection"],
    wrong: ["introspection", "https://issuer.example"],
  },
  openIdConnectScheme: {
    call: secured(auth.openIdConnectScheme),
    valid: issuer,
    misspelt: ["scope", "scopes"],
    wrong: ["scopes", ["read"]],
  },
  mutualTlsScheme: { call: secured(auth.mutualTlsScheme), misspelt: ["owners", "owner"], wrong: ["owner", "me"] },
  customScheme: {
    call: secured(auth.customScheme),
    valid: { card: { httpAuthSecurityScheme: { scheme: "Hawk" } }, authenticate: () => undefined },
    misspelt: ["chalenge", "challenge"],
    wrong: ["challenge", "Hawk"],
  },
  signCard: { call: (options) => signCard(card, [], options), misspelt: ["jkuu", "jku"], wrong: ["jku", 1] },
  verifyCard: {
    call: (options) => verifyCard(cardJson(), options),
    misspelt: ["acceptWithoutEmtpy", "acceptWithoutEmpty"],
    wrong: ["acceptWithoutEmpty", "yes"],
  },
  sqliteStore: { call: sqliteStore, valid: { path: "none" }, misspelt: ["shard", "shared"], wrong: ["shared", 1] },
  postgresStore: {
    call: postgresStore,
    valid: { url: "postgres://localhost" },
    misspelt: ["scheme", "schema"],
    wrong: ["schema", 1],
  },
  memoryStore: { call: memoryStore, misspelt: ["shard", "shared"], wrong: ["shared", "yes"] },
  natsSignals: {
    call: natsSignals,
    valid: { url: "nats://localhost" },
    misspelt: ["prefx", "prefix"],
    wrong: ["prefix", 1],
  },
  createPushReceiver: {
    call: createPushReceiver,
    valid: { secrets: ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"] },
    misspelt: ["secret", "secrets"],
    wrong: ["toleranceMs", "5"],
  },
  connect: { call: (options) => client.connect(card, options), misspelt: ["prefr", "prefer"], wrong: ["prefer", 1] },
  createTransport: {
    call: (options) => client.createTransport("JSONRPC", "https://agent.example", options),
    misspelt: ["interceptor", "interceptors"],
    wrong: ["interceptors", 1],
  },
  apiKey: { call: (options) => client.apiKey("k", options), ...sent },
  basic: { call: (options) => client.basic("n", "p", options), ...sent },
  bearer: { call: (options) => client.bearer("t", options), ...sent },
  chooseCredentials: {
    call: (options) => client.chooseCredentials(card, undefined, options),
    misspelt: ["certficate", "certificate"],
    wrong: ["certificate", "cert"],
  },
  clientCredentials: {
    call: oauth.clientCredentials,
    valid: flow,
    misspelt: ["isuer", "issuer"],
    wrong: ["issuer", 1],
  },
  deviceCode: {
    call: oauth.deviceCode,
    valid: { clientId: "me", prompt: () => {} },
    misspelt: ["prompts", "prompt"],
    wrong: ["prompt", "yes"],
  },
  authorizationCode: {
    call: oauth.authorizationCode,
    valid: { clientId: "me", storage },
    misspelt: ["redirectUrl", "redirectUri"],
    wrong: ["storage", "session"],
  },
  "authorizationCode().begin": { call: opened, misspelt: ["scope", "scopes"], wrong: ["scopes", "read"] },
  useConversation: {
    call: (options) => {
      const Page: FC = () => String(useConversation(undefined, options).isStreaming);
      return renderToString(createElement(Page));
    },
    misspelt: ["storge", "storage"],
    wrong: ["storage", "session"],
  },
  chatTransport: {
    call: (options) => chatTransport({} as never, options),
    misspelt: ["storge", "storage"],
    wrong: ["storage", "session"],
  },
};

/** Exported functions without options of this kind, by the reason. */
const others: Readonly<Record<string, readonly string[]>> = {
  "has no options": [
    ...["canonicalCard", "chain", "clientCertificate", "clientError", "dataOf", "filesOf", "generationOf"],
    ...["interfacesOf", "isCallOf", "isNatsAddress", "isStream", "localSignals", "metricProducer", "metricsText"],
    ...["neverArrived", "partsOf", "publicKeysOf", "pushMemory", "pushSecretOf", "sequentialIds", "textOf"],
    ...["turnWith", "uiMessageStream", "useTask", "webStorage", "withInterfaces"],
  ],
  "is checked when the agent yields it": [
    ...["artifact", "authRequired", "canceled", "completed", "failed", "inputRequired", "metadata", "rejected"],
    ...["reply", "working"],
  ],
  "needs a turn: test/ai has its checks": ["chatMessages", "modelMessages", "responsesInput"],
  "takes values that createServer has checked": ["buildCard", "registerAgents"],
  "gets options of Fastify too": ["parleyFastify"],
};

/** Returns the message of the error that a call ends with. */
async function failure(call: () => unknown): Promise<string> {
  try {
    const made = await call();
    await (made as { close?(): Promise<void> } | undefined)?.close?.();
    return "";
  } catch (error) {
    return (error as Error).message;
  }
}

describe("the options of the exported functions", () => {
  it.each(Object.entries(rows))("of %s are refused if a name is unknown, with the nearest one", async (_name, row) => {
    const { call, valid = {}, misspelt } = row;
    const [name, near] = misspelt;
    const message = await failure(() => call({ ...valid, [name]: 1 } as never));
    expect(message).toMatch(new RegExp(`\\b${name} is not known: did you mean ${near}\\?`));
  });

  it.each(Object.entries(rows))("of %s are refused if a value has a wrong type, with the name", async (_name, row) => {
    const { call, valid = {}, wrong } = row;
    const [name, value] = wrong;
    const message = await failure(() => call({ ...valid, [name]: value } as never));
    expect(message).toMatch(new RegExp(`\\b${name} (is (?!not iterable|not a function$)|has no function )`));
  });

  it("are all in these tables", async () => {
    const root = fileURLToPath(new URL("../..", import.meta.url));
    const { exports: entries } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
      exports: Readonly<Record<string, { readonly default?: string; readonly node?: string }>>;
    };
    const known = new Set([...Object.keys(rows), ...Object.values(others).flat()]);
    const unknown: string[] = [];
    for (const [entry, { node, default: built }] of Object.entries(entries)) {
      if (built === undefined || ["./gen", "./store/contract"].includes(entry)) continue;
      const source = (node ?? built).replace(/^\.\/dist\//, "").replace(/\.js$/, ".ts");
      const all = (await import(pathToFileURL(join(root, source)).href)) as Readonly<Record<string, unknown>>;
      const functions = Object.entries(all).filter(([, value]) => typeof value === "function" && !isClass(value));
      unknown.push(...functions.map(([name]) => name).filter((name) => !known.has(name)));
    }
    expect(unknown).toEqual([]);
  });
});

const isClass = (value: object): boolean => /^class\b/.test(String(value));
