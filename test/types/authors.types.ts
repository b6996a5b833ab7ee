/*
 * Code of authors and embedders, checked by the compiler alone. `npm run lint` fails if one of these lines has another
 * type, or if a line after `@ts-expect-error` compiles. None of this ever runs.
 */
import { create, type JsonValue } from "@bufbuild/protobuf";
import type { Server as GrpcJsServer } from "@grpc/grpc-js";
import { type } from "arktype";
import { expectTypeOf } from "vitest";
import * as z from "zod";
import { AgentCardSchema, SecuritySchemeSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import {
  apiKeyScheme,
  type Caller,
  type CallerInput,
  jwtScheme,
  mutualTlsScheme,
  openIdConnectScheme,
} from "../../src/auth/index.js";
import { createFetchA2A } from "../../src/fetch.js";
import {
  type A2A,
  A2AError,
  type A2AOptions,
  type Agent,
  type AgentCardInput,
  type AgentEvent,
  artifact,
  completed,
  createA2A,
  createServer,
  filesOf,
  inputRequired,
  type PlainFile,
  partsOf,
  type Reason,
  reply,
  type Server,
  type ServerOptions,
  type Turn,
  working,
} from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";

const card = { name: "Echo", description: "Says it again.", version: "1.0.0" };

// An agent is an object with a card and a generator; its turn needs no annotation.
const agent: Agent = {
  card,
  async *execute(turn) {
    expectTypeOf(turn).toEqualTypeOf<Turn>();
    expectTypeOf(turn.text).toEqualTypeOf<string>();
    expectTypeOf(turn.signal).toEqualTypeOf<AbortSignal>();
    // @ts-expect-error nothing of a turn can be changed
    turn.text = "";
    // Content in the turn and its members is plain, and can be yielded unchanged.
    expectTypeOf(turn.files[0]?.bytes).toEqualTypeOf<Uint8Array | undefined>();
    expectTypeOf(turn.message.parts[0]?.text).toEqualTypeOf<string | undefined>();
    expectTypeOf(filesOf(turn.task)).toEqualTypeOf<PlainFile[]>();
    for (const part of turn.parts) if (part.file !== undefined) yield artifact({ file: part.file });
    yield artifact({ parts: turn.parts });
    yield working(partsOf(turn.history[0]));
    yield working("Reading…");
    yield artifact({ name: "echo", text: turn.text, append: true });
    yield inputRequired("More?");
    yield completed();
  },
};

const zodForm = z.object({ amount: z.number(), day: z.iso.date().transform((text) => new Date(text)) });
const arkForm = type({ amount: "number", "note?": "string" });
const jsonForm = {
  type: "object",
  properties: {
    amount: { type: "number" },
    kind: { enum: ["meal", "taxi"] },
    guests: { type: "array", items: { type: "string" } },
    open: {},
  },
  required: ["amount", "kind"],
} as const;

// The answer to a form is typed by its schema.
export const asking: Agent = {
  card,
  async *execute(turn) {
    const ofZod = yield* turn.form(zodForm, { text: "What for?" });
    expectTypeOf(ofZod).toEqualTypeOf<{ amount: number; day: Date }>();
    const ofArk = yield* turn.form(arkForm, { text: "What for?" });
    expectTypeOf(ofArk.note).toEqualTypeOf<string | undefined>();
    const ofJson = yield* turn.form(jsonForm, { text: "What for?" });
    expectTypeOf(ofJson.amount).toEqualTypeOf<number>();
    expectTypeOf(ofJson.kind).toEqualTypeOf<"meal" | "taxi">();
    expectTypeOf(ofJson.guests).toEqualTypeOf<string[] | undefined>();
    expectTypeOf(ofJson.open).toEqualTypeOf<JsonValue | undefined>();
    const inline = yield* turn.form({ properties: { n: { type: "integer" } }, required: ["n"] }, { text: "n?" });
    expectTypeOf(inline.n).toEqualTypeOf<number>();
    yield inputRequired({ text: "What for?", form: zodForm });
    // @ts-expect-error a form has a text
    yield* turn.form(zodForm, {});
  },
};

// @ts-expect-error an agent has a card
export const withoutCard: Agent = { execute: agent.execute };

// @ts-expect-error an agent does something
export const withoutExecute: Agent = { card };

// @ts-expect-error the star is missing, so execute returns a promise instead of a generator
export const withoutStar: Agent = { card, async execute() {} };

export const misspelled: Agent = {
  ...agent,
  // @ts-expect-error there are three kinds of agents
  responds: "tasks",
};

export const refusing: Agent = {
  ...agent,
  recover: (turn) => (turn.attempt < 3 ? "restart" : "fail"),
  accept(request, caller) {
    expectTypeOf(caller).toEqualTypeOf<Caller>();
    // @ts-expect-error a message that may be refused has no task of its own yet
    void request.taskId;
    if (request.text === "") throw new A2AError("INVALID_PARAMS", "It is empty.");
  },
};

// Security schemes are written as the specification's JSON has them, or as protobuf's objects do.
const refreshed = { tokenUrl: "https://example.org/token", scopes: { read: "Reads." } };
export const secured: AgentCardInput = {
  ...card,
  securitySchemes: {
    key: { apiKeySecurityScheme: { location: "header", name: "x-api-key" } },
    bearer: { httpAuthSecurityScheme: { scheme: "Bearer", bearerFormat: "JWT" } },
    oauth: { oauth2SecurityScheme: { flows: { clientCredentials: refreshed } } },
    signIn: {
      oauth2SecurityScheme: {
        flows: { authorizationCode: { ...refreshed, authorizationUrl: "https://example.org/", pkceRequired: true } },
        oauth2MetadataUrl: "https://example.org/.well-known/oauth-authorization-server",
      },
    },
    openId: { openIdConnectSecurityScheme: { openIdConnectUrl: "https://example.org/.well-known/openid" } },
    mtls: { mtlsSecurityScheme: { description: "Signed by us." } },
    objects: { scheme: { case: "httpAuthSecurityScheme", value: { scheme: "Bearer" } } },
    message: create(SecuritySchemeSchema, { scheme: { case: "mtlsSecurityScheme", value: {} } }),
  },
  securityRequirements: [{ schemes: { oauth: { list: ["read"] } } }],
};
expectTypeOf(create(AgentCardSchema, card)).toExtend<AgentCardInput>();
// @ts-expect-error a scheme has a name that the specification knows
export const misspelledScheme: AgentCardInput = { securitySchemes: { a: { httpAuthSecurtyScheme: { scheme: "x" } } } };
export const schemesOfTwoKinds: AgentCardInput = {
  // @ts-expect-error a scheme is of one kind
  securitySchemes: { a: { httpAuthSecurityScheme: { scheme: "x" }, mtlsSecurityScheme: {} } },
};
export const elsewhere: AgentCardInput = {
  // @ts-expect-error a key goes into a header, the query or a cookie
  securitySchemes: { a: { apiKeySecurityScheme: { location: "body", name: "key" } } },
};
export const flowsOfTwoKinds: AgentCardInput = {
  // @ts-expect-error a scheme has one flow
  securitySchemes: { a: { oauth2SecurityScheme: { flows: { clientCredentials: refreshed, password: refreshed } } } },
};
// @ts-expect-error the card has fields that the specification knows
export const misspelledCard: AgentCardInput = { ...card, descripton: "x" };

// Events are values of one type, made by functions that take a text or more.
expectTypeOf(working).toBeCallableWith("Reading…");
expectTypeOf(reply("Hello")).toExtend<AgentEvent>();
expectTypeOf(completed()).toExtend<AgentEvent>();
// @ts-expect-error an answer says something
reply();
// @ts-expect-error unknown members are refused
artifact({ txt: "Hello" });

// Reasons are known by name.
expectTypeOf<"TASK_NOT_FOUND">().toExtend<Reason>();
// @ts-expect-error the reason does not exist
export const unknownReason = new A2AError("TASK_NOT_FUOND", "It is not here.");

// A caller needs an owner and nothing else.
expectTypeOf<{ owner: string }>().toExtend<CallerInput>();
export const authenticated: A2AOptions = {
  agent,
  store: memoryStore(),
  authenticator: {
    authenticate: (call) => (call.header("authorization") === undefined ? undefined : { owner: "ann" }),
  },
};

// Agents declare their callers: schemes by their names, and requirements with scopes.
const issuer = { issuer: "https://example.org", audience: "agents" };
export const guarded: Agent = {
  ...agent,
  security: {
    schemes: {
      bearer: jwtScheme({ ...issuer, jwks: "https://example.org/jwks" }),
      openId: openIdConnectScheme({ ...issuer, owner: (claims) => String(claims.email) }),
      key: apiKeyScheme({
        in: "header",
        name: "x-key",
        keys: [{ owner: "nightly", sha256: "0".repeat(64), scopes: ["run"] }],
      }),
      tls: mutualTlsScheme(),
    },
    require: [{ bearer: ["read"], key: [] }, "openId", "tls"],
  },
};
// @ts-expect-error a token has an owner
jwtScheme({ issuer: "https://example.org", jwks: "https://example.org/jwks" });
// @ts-expect-error a key is in a place that the specification knows
apiKeyScheme({ in: "body", name: "x-key", keys: [] });

// Options: a store, and an agent or several; what listens is the server's alone.
expectTypeOf(createServer).parameter(0).toEqualTypeOf<ServerOptions>();
expectTypeOf(createServer({ agent, store: sqliteStore("tasks.db"), port: 0 })).resolves.toEqualTypeOf<Server>();
expectTypeOf(createA2A({ agents: { one: agent, two: agent }, store: memoryStore() })).toEqualTypeOf<A2A>();
// @ts-expect-error an agent is missing
createServer({ store: memoryStore(), port: 0 });
// @ts-expect-error an agent is missing
createA2A({ store: memoryStore() });
// @ts-expect-error an agent is missing
createFetchA2A({ store: memoryStore() });
// @ts-expect-error tasks are kept somewhere
createA2A({ agent });
// @ts-expect-error an embedded server opens no port
createA2A({ agent, store: memoryStore(), port: 8080 });
// @ts-expect-error limits are known by name
createA2A({ agent, store: memoryStore(), limits: { maxTaskByte: 1 } });

// Our own types fit a server of grpc-js, so only its users have to install grpc-js.
expectTypeOf<A2A["grpc"]["definition"]>().toExtend<Parameters<GrpcJsServer["addService"]>[0]>();
expectTypeOf<A2A["grpc"]["implementation"]>().toExtend<Parameters<GrpcJsServer["addService"]>[1]>();
