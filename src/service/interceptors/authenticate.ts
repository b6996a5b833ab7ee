import { type Message, Role } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { type Audit, forAudit } from "../../audit/audit.js";
import type { Authenticator } from "../../auth/authenticator.js";
import { authentication } from "../../auth/checks-under-way.js";
import { type Guard, Guards } from "../../auth/guard.js";
import type { AgentSecurity } from "../../auth/security.js";
import { Throttle } from "../../auth/throttle.js";
import type { AgentRegistration } from "../../card/agents.js";
import { bounded, isPromiseLike, notPromised } from "../../core/async.js";
import { type Call, type CallerInput, type OwnerOf, withOwner } from "../../core/call.js";
import { A2AError } from "../../core/error.js";
import type { SignalMember } from "../../signals/signals.js";
import type { Invocation, ServiceInterceptor } from "../invoke.js";
import type { ServiceOptions } from "../options.js";

/** Identifies the caller and rejects a call without valid credentials (specification 7.4). */
export function authenticate(authenticator: Authenticator, ownerOf?: OwnerOf): ServiceInterceptor {
  return (next) => async (invocation) => {
    await identify(authenticator, invocation.call, ownerOf);
    return next(invocation);
  };
}

/** Bounds the time of an author's function, which could otherwise hold its call indefinitely. */
export function inTime<T>(work: Promise<T>, call: Call): Promise<T> {
  const error = (): A2AError => {
    const refusal = new A2AError("UNAVAILABLE", "The caller's credentials could not be checked in time.", {
      retryAfterMs: 1_000,
    });
    return forAudit(refusal, { event: "authentication.failed", reason: "timeout" });
  };
  return bounded(work, { cancellation: call.cancellation, timeout: { ms: authentication.timeoutMs, error } });
}

async function identify(authenticator: Authenticator, call: Call, ownerOf: OwnerOf | undefined): Promise<void> {
  const found: unknown = authenticator.authenticate(call);
  const caller = isPromiseLike(found) ? await inTime(Promise.resolve(found), call) : found;
  // An authenticator in plain JavaScript may return any value. Only a caller with an owner is accepted.
  if (!isCaller(caller)) {
    const headers = { "www-authenticate": authenticator.challenge ?? "Bearer" };
    // An authenticator does not report if the call had any credentials.
    throw forAudit(new A2AError("UNAUTHENTICATED", "Valid credentials are required.", { headers }), {
      reason: "refused",
    });
  }
  // Defaults for the fields that the authenticator leaves out.
  const { owner, authenticated = true, scopes = [], claims = {}, expiresAt } = caller;
  const known = { owner, authenticated, scopes, claims, ...(expiresAt !== undefined && { expiresAt }) };
  call.caller = withOwner(known, ownerOf);
}

function isCaller(value: unknown): value is CallerInput {
  return typeof value === "object" && value !== null && "owner" in value && typeof value.owner === "string";
}

interface SecurityParts
  extends Pick<ServiceOptions, "agents" | "authenticator" | "limits" | "logger" | "resourceMetadata"> {
  readonly ownerOf?: OwnerOf | undefined;
  /** Records wrong credentials of calls that valid credentials of another scheme admit. */
  readonly audit?: Audit | undefined;
  /** Shares failed attempts with other processes. */
  readonly signals?: SignalMember | undefined;
  /** True if the author's interceptors run in between, because they may redirect a call to another agent. */
  readonly mayMove: boolean;
}

interface GuardedAgent {
  readonly guard: Guard;
  readonly skills: ReadonlyMap<string, Guard>;
  readonly skillOf: AgentSecurity["skillOf"];
}

/**
 * Enforces the declaration of each agent. `first` runs before anything that could reveal information to a caller.
 * `last` runs once the agent of the call is final, and checks the skill.
 */
export function enforceSecurity(parts: SecurityParts): { first: ServiceInterceptor; last: ServiceInterceptor } {
  const { agents, authenticator, ownerOf, limits, logger, mayMove } = parts;
  const guards = new Guards({ limits, logger }, parts.audit, new Throttle(limits, parts.signals));
  const guarded = new Map<AgentRegistration, GuardedAgent>();
  for (const served of agents.all) {
    const { security } = served.agent;
    if (security === undefined) continue;
    const { skillOf } = security;
    const metadata = (call: Call): string => parts.resourceMetadata(served.tenant, call);
    const [guard, skills] = [guards.ofAgent(security, metadata), guards.ofSkills(security, metadata)];
    guarded.set(served, { guard, skills, skillOf });
  }
  // Until the caller is known, a tenant without an agent is treated like one whose agent has the first declaration.
  const fallback = agents.all.find((served) => guarded.has(served));
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
      const { tenant = "" }: Invocation["request"] & { tenant?: string } = invocation.request;
      const served = agents.resolve(tenant) ?? fallback;
      if (mayMove) checked.set(invocation.call, served);
      const pending = identifyFor(served, invocation.call);
      return pending === undefined ? next(invocation) : pending.then(() => next(invocation));
    },
    last: (next) => {
      const onward = (invocation: Invocation): ReturnType<typeof next> => {
        const pending = admitToSkill(invocation.served && guarded.get(invocation.served), invocation);
        return pending === undefined ? next(invocation) : pending.then(() => next(invocation));
      };
      return (invocation) => {
        const { call, served } = invocation;
        // Another agent may have another declaration.
        if (!mayMove || checked.get(call) === served) return onward(invocation);
        const pending = identifyFor(served, call);
        return pending === undefined ? onward(invocation) : pending.then(() => onward(invocation));
      };
    },
  };
}

/**
 * Checks the requirements of a message's skill. A message to an existing task must also meet the requirements of the
 * task's earlier messages. Otherwise a caller could continue a task of a skill that it may not use, by naming another
 * skill.
 */
function admitToSkill(agent: GuardedAgent | undefined, { request, call }: Invocation): Promise<unknown> | undefined {
  if (agent?.skillOf === undefined || agent.skills.size === 0) return undefined;
  const { message }: Invocation["request"] & { message?: Message } = request;
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

/** Returns the skill of a message; empty if it has none. */
function skillIdOf({ skillOf }: GuardedAgent, message: Message): string {
  const id: unknown = skillOf?.(message) ?? "";
  if (typeof id === "string") return id;
  // A promise or a list would match no skill's id, so that no requirement would be checked.
  notPromised(id);
  throw new TypeError("security.skillOf() must return the id of a skill or undefined, and not a promise");
}
