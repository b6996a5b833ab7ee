import { type Message, Role } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { type Audit, forAudit } from "../../audit/audit.js";
import type { Authenticator } from "../../auth/authenticator.js";
import { authentication } from "../../auth/checks-under-way.js";
import { type Guard, Guards } from "../../auth/guard.js";
import type { AgentSecurity } from "../../auth/security.js";
import type { AgentDirectory, AgentRegistration } from "../../card/agents.js";
import { bounded, isPromiseLike, notPromised } from "../../core/async.js";
import type { Call } from "../../core/call.js";
import { type CallerInput, type OwnerOf, withOwner } from "../../core/caller.js";
import { A2AError } from "../../core/error.js";
import type { Limits } from "../../core/limits.js";
import type { Logger } from "../../core/log.js";
import type { Interceptor, Invocation } from "../invoke.js";

/** Identifies the caller, and refuses a call without valid credentials (specification 7.4). */
export function authenticate(authenticator: Authenticator, ownerOf?: OwnerOf): Interceptor {
  return (next) => async (invocation) => {
    await identify(authenticator, invocation.call, ownerOf);
    return next(invocation);
  };
}

/** What an author's function never answers would hold its call for ever. */
function inTime<T>(work: Promise<T>, call: Call): Promise<T> {
  return bounded(work, call, authentication.timeoutMs, () => {
    const refusal = new A2AError("UNAVAILABLE", "The caller's credentials could not be checked in time.", {
      retryAfterMs: 1_000,
    });
    return forAudit(refusal, { event: "authentication.failed", reason: "timeout" });
  });
}

async function identify(authenticator: Authenticator, call: Call, ownerOf: OwnerOf | undefined): Promise<void> {
  const found: unknown = authenticator.authenticate(call);
  const caller = isPromiseLike(found) ? await inTime(Promise.resolve(found), call) : found;
  // An authenticator in plain JavaScript may return anything; only a caller with an owner is accepted.
  if (!isCaller(caller)) {
    const headers = { "www-authenticate": authenticator.challenge ?? "Bearer" };
    // Whether there were any credentials, an authenticator does not say.
    throw forAudit(new A2AError("UNAUTHENTICATED", "Valid credentials are required.", { headers }), {
      reason: "refused",
    });
  }
  // Absent fields get the values of a caller of whom nothing more is known.
  const { owner, authenticated = true, scopes = [], claims = {}, expiresAt } = caller;
  const known = { owner, authenticated, scopes, claims, ...(expiresAt !== undefined && { expiresAt }) };
  call.caller = withOwner(known, ownerOf);
}

function isCaller(value: unknown): value is CallerInput {
  return typeof value === "object" && value !== null && "owner" in value && typeof value.owner === "string";
}

/** What the interceptors of a server are made of whose agents declare who may call. */
export interface SecurityParts {
  readonly agents: AgentDirectory;
  /** For agents without a declaration. */
  readonly authenticator?: Authenticator;
  /** See ServiceOptions. */
  readonly ownerOf?: OwnerOf | undefined;
  readonly limits: Limits;
  readonly logger: Logger;
  /** Gets wrong credentials of calls that good ones of another scheme let in. */
  readonly audit?: Audit | undefined;
  /** Whether interceptors of the author's run in between, which may lead a call to another agent. */
  readonly mayMove: boolean;
  /** See ServiceOptions. */
  readonly resourceMetadata: (tenant: string, call: Call) => string;
}

/** What guards each agent, and its skills. */
interface GuardedAgent {
  readonly guard: Guard;
  readonly skills: ReadonlyMap<string, Guard>;
  readonly skillOf: AgentSecurity["skillOf"];
}

/**
 * Enforces what each agent declares. `first` runs before everything that could tell a caller something; `last` runs when the
 * agent of the call is known for good, and looks at the skill.
 */
export function enforceSecurity(parts: SecurityParts): { first: Interceptor; last: Interceptor } {
  const { agents, authenticator, ownerOf, limits, logger, mayMove } = parts;
  const guards = new Guards({ limits, logger }, parts.audit);
  const guarded = new Map<AgentRegistration, GuardedAgent>();
  for (const served of agents.all) {
    const { security } = served.agent;
    if (security === undefined) continue;
    const { skillOf } = security;
    const metadata = (call: Call): string => parts.resourceMetadata(served.tenant, call);
    const [guard, skills] = [guards.ofAgent(security, metadata), guards.ofSkills(security, metadata)];
    guarded.set(served, { guard, skills, skillOf });
  }
  // A tenant without an agent is answered as if its agent had the first declaration, until the caller is known.
  const standIn = agents.all.find((served) => guarded.has(served));
  const checked = new WeakMap<Call, AgentRegistration | undefined>();

  const identifyFor = (served: AgentRegistration | undefined, call: Call): Promise<void> | undefined => {
    const guard = served === undefined ? undefined : guarded.get(served)?.guard;
    if (guard === undefined) {
      return authenticator === undefined ? undefined : identify(authenticator, call, ownerOf);
    }
    const caller = guard.admit(call);
    if (caller instanceof Promise) {
      return inTime(caller, call).then((known) => {
        call.caller = withOwner(known, ownerOf);
      });
    }
    call.caller = withOwner(caller, ownerOf);
    return undefined;
  };
  return {
    first: (next) => (invocation) => {
      const { tenant = "" } = invocation.request as { tenant?: string };
      const served = agents.resolve(tenant) ?? standIn;
      if (mayMove) checked.set(invocation.call, served);
      const pending = identifyFor(served, invocation.call);
      return pending === undefined ? next(invocation) : pending.then(() => next(invocation));
    },
    last: (next) => {
      const onward = (invocation: Invocation): ReturnType<typeof next> => {
        const pending = admitToSkill(guarded.get(invocation.served as AgentRegistration), invocation);
        return pending === undefined ? next(invocation) : pending.then(() => next(invocation));
      };
      return (invocation) => {
        const { call, served } = invocation;
        // The other agent may declare something else.
        if (!mayMove || checked.get(call) === served) return onward(invocation);
        const pending = identifyFor(served, call);
        return pending === undefined ? onward(invocation) : pending.then(() => onward(invocation));
      };
    },
  };
}

/**
 * A message for a skill has to meet what the skill requires as well. One that goes on with a task has to meet what the messages before it
 * had to: what it says of itself would not keep a caller out who may not use the skill.
 */
function admitToSkill(agent: GuardedAgent | undefined, { request, call }: Invocation): Promise<unknown> | undefined {
  if (agent?.skillOf === undefined || agent.skills.size === 0) return undefined;
  const { message } = request as { message?: Message };
  if (message === undefined) return undefined;
  const own = skillIdOf(agent, message);
  if (message.taskId !== "") {
    call.admitToTask = ({ history }) => {
      const ids = new Set(history.filter(({ role }) => role === Role.USER).map((before) => skillIdOf(agent, before)));
      ids.delete(own);
      return ids.size === 0 ? Promise.resolve() : inTime(admitToAll(agent, ids, call), call);
    };
  }
  const admitted = agent.skills.get(own)?.admit(call);
  return admitted instanceof Promise ? inTime(admitted, call) : undefined;
}

async function admitToAll(agent: GuardedAgent, ids: Iterable<string>, call: Call): Promise<void> {
  for (const id of ids) await agent.skills.get(id)?.admit(call);
}

/** The skill that a message is for; empty where it is for none. */
function skillIdOf({ skillOf }: GuardedAgent, message: Message): string {
  const id: unknown = skillOf?.(message) ?? "";
  if (typeof id === "string") return id;
  // A promise of an id, or a list, would be the id of no skill, and open what it names.
  notPromised(id);
  throw new TypeError("security.skillOf() gives the id of a skill, or undefined, and no promise of one");
}
