import type { AgentCardInput } from "../../src/agent/agent.js";
import type { Authenticator } from "../../src/auth/authenticator.js";
import type { AgentsInput } from "../../src/card/agents.js";
import { anonymous, type Caller } from "../../src/core/call.js";
import type { Limits } from "../../src/core/limits.js";
import type { Logger } from "../../src/core/log.js";
import type { PushOptions } from "../../src/push/options.js";
import type { ServiceInterceptor } from "../../src/service/invoke.js";
import { messenger, obedient, picky, pickyEither, pickyMessenger, rememberer, undecided } from "./agents.js";
import { toHook } from "./hook.js";

/** Options of a server in the tables, except its store and ports. */
export type Setup = AgentsInput & SetupOptions;

interface SetupOptions {
  readonly authenticator?: Authenticator;
  readonly interceptors?: readonly ServiceInterceptor[];
  readonly limits?: Partial<Limits>;
  readonly logger?: Logger;
  readonly strictVersion?: boolean;
  readonly idempotentMessageIds?: boolean;
  readonly push?: boolean | PushOptions;
}

/** Authenticates by bearer tokens. The token's first word is the owner; scopes follow the colon. */
const tokens: Authenticator = {
  challenge: 'Bearer realm="tests"',
  authenticate(call) {
    const header = call.header("authorization");
    const [, owner, scopes = ""] = /^Bearer (alice|bob)(?::(\S+))?$/.exec(header ?? "") ?? [];
    if (owner === undefined) return undefined;
    return { owner, authenticated: true, scopes: scopes.split(",").filter((scope) => scope !== ""), claims: {} };
  },
};

/** Accepts callers without credentials as anonymous. */
const optionalTokens: Authenticator = {
  ...tokens,
  authenticate: (call) => (call.header("authorization") === undefined ? anonymous : tokens.authenticate(call)),
};

const bearer = { scheme: { case: "httpAuthSecurityScheme", value: { scheme: "Bearer" } } } as const;

const secured = { securitySchemes: { bearer }, securityRequirements: [{ schemes: { bearer: { list: [] } } }] };

const extraSkill = { id: "extra", name: "Extra", description: "For those who are known.", tags: ["extra"] };

function extendedCard(caller: Caller): AgentCardInput | undefined {
  if (caller.scopes.includes("none")) return undefined;
  return { description: `For ${caller.owner} alone.`, skills: [extraSkill] };
}

const extension = (uri: string, required: boolean): { uri: string; description: string; required: boolean } => ({
  uri,
  description: "An extension of tests.",
  required,
});

const may1 = extension("urn:example:ext:may:v1", false);
const may2 = extension("urn:example:ext:may:v2", false);
const must = extension("urn:example:ext:must:v1", true);

/** The servers of the table, by name. */
export const setups = {
  /** One agent, no authentication, everything at its default. */
  main: { agent: obedient("main", { capabilities: { extensions: [may1, may2] } }) },
  /** An agent that answers only with messages. */
  message: { agent: messenger },
  /** An agent that answers only with messages, and stores its answers. */
  remembering: { agent: rememberer },
  /** An agent that decides between message and task. */
  either: { agent: undecided },
  /** Agents that refuse messages before anything is stored. */
  picky: { agent: picky },
  pickyMessenger: { agent: pickyMessenger },
  pickyEither: { agent: pickyEither },
  /** An agent that does not stream. */
  unstreamed: { agent: obedient("unstreamed", { capabilities: { streaming: false } }) },
  /** An agent that requires its callers to support an extension. */
  demanding: { agent: obedient("demanding", { capabilities: { extensions: [may1, must] } }) },
  /** An agent that takes plain text and pictures. */
  modes: {
    agent: obedient("modes", {
      defaultInputModes: ["text/plain"],
      skills: [{ id: "see", name: "See", description: "Looks at pictures.", tags: ["image"], inputModes: ["image/*"] }],
    }),
  },
  /** An agent that produces Markdown and pictures. It refuses callers that accept neither. */
  outputs: {
    agent: obedient(
      "outputs",
      {
        defaultOutputModes: ["text/markdown"],
        skills: [{ id: "draw", name: "Draw", description: "Draws.", tags: ["image"], outputModes: ["image/*"] }],
      },
      { checkOutputModes: true },
    ),
  },
  /** Callers with tokens, which see only their own tasks, and an extended card. */
  owners: { agent: obedient("owners", secured, { extendedCard }), authenticator: tokens },
  /** The same server, which also accepts callers without a token. */
  guests: { agent: obedient("guests", secured, { extendedCard }), authenticator: optionalTokens },
  /** A card that announces an extended card, which does not exist. */
  promising: { agent: obedient("promising", { capabilities: { extendedAgentCard: true } }) },
  /** Two agents behind one endpoint. */
  departments: { agents: { billing: obedient("billing"), support: obedient("support") } },
  /** One agent for two tenants and for requests without a tenant. */
  tenants: { agent: obedient("tenants"), tenants: ["north", "süd"] },
  /** Two tenants whose callers have tokens. */
  both: { agent: obedient("both", secured), tenants: ["north", "south"], authenticator: tokens },
  /** A server that treats a request without a version as one of version 0.3. */
  strict: { agent: obedient("strict"), strictVersion: true },
  /** Agents with a very short grace period. */
  impatient: { agent: obedient("impatient"), limits: { cancelGraceMs: 20 } },
  /** Very low limits. */
  narrow: {
    agent: obedient("narrow"),
    limits: {
      maxRequestBytes: 64 * 1024,
      maxParts: 2,
      maxBlockingMs: 50,
    },
  },
  /** Very low limits of concurrent calls and streams. */
  crowded: { agent: obedient("crowded"), limits: { maxCalls: 1, maxStreams: 1 } },
  /** A separate server for agents that yield invalid values, because their tasks would disturb other cases. */
  careless: { agent: obedient("careless") },
  /** A server that sends push notifications. */
  pushing: { agent: obedient("pushing"), push: toHook },
  pushingEither: { agent: undecided, push: toHook },
  pushingSecurely: { agent: obedient("pushingSecurely"), push: { ...toHook, allowHttp: false } },
  /** A server that sends push notifications, with an agent that does not support them. */
  pushingNot: { agent: obedient("pushingNot", { capabilities: { pushNotifications: false } }), push: toHook },
  /** A server with few configurations per task. */
  pushingLittle: {
    agent: obedient("pushingLittle"),
    push: toHook,
    limits: { maxPushConfigsPerTask: 2, maxPushConfigsPerOwner: 2 },
  },
  pushingOwners: {
    agent: obedient("pushingOwners", secured),
    tenants: ["north", "south"],
    authenticator: tokens,
    push: toHook,
  },
  /** A server where the id of a message makes a send idempotent. */
  messageIds: { agent: obedient("messageIds"), idempotentMessageIds: true },
} satisfies Record<string, Setup>;

/** Name of a server of the table. */
export type SetupName = keyof typeof setups;
