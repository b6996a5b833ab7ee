import type { Message } from "@bufbuild/protobuf";
import { A2AError } from "../core/error.js";
import { Subscriptions } from "./caller-shares.js";
import { admission } from "./interceptors/admission.js";
import { authenticate, enforceSecurity } from "./interceptors/authenticate.js";
import { boundInterceptors } from "./interceptors/bound-interceptors.js";
import { addressRate, callerLimits, callerRate } from "./interceptors/caller-limits.js";
import { extensions } from "./interceptors/extensions.js";
import { requestMemory } from "./interceptors/request-memory.js";
import { serverSpan } from "./interceptors/server-span.js";
import { tenant } from "./interceptors/tenant.js";
import { trace } from "./interceptors/trace.js";
import { version } from "./interceptors/version.js";
import { chain, type InvocationResult, type Invoke, type ServiceInterceptor } from "./invoke.js";
import { cardOperation } from "./operations/extended-card.js";
import type { Context, OperationParts, ServiceMethods } from "./operations/operation.js";
import { pushOperations } from "./operations/push.js";
import { sendOperations } from "./operations/send.js";
import { subscribeOperation } from "./operations/subscribe.js";
import { taskOperations } from "./operations/tasks.js";
import type { ServiceOptions } from "./options.js";
import { OutgoingBudget } from "./outgoing-budget.js";
import { validate } from "./validation.js";

/** Creates the service behind every binding, with its interceptors. */
export function createInvoke(options: ServiceOptions): Invoke {
  const { agents, draining, limits, strictVersion = false, versions } = options;
  const { signals } = options.engine;
  const methods = createMethods(options);
  const authentication = authenticationOf(options);
  const interceptors = [
    trace(({ tenant = "" }: Message & { tenant?: string }) => agents.resolve(tenant)?.card.name ?? ""),
    serverSpan(options.tracing, agents),
    admission({ limits, draining, audit: options.audit, metrics: options.metrics }),
    ...addressRate(limits, signals),
    ...authentication.first,
    ...callerRate(limits, signals),
    callerLimits(limits, signals),
    requestMemory(),
    ...boundedInterceptors(options),
    version(strictVersion, versions, options.mismatches),
    // Runs before extensions and validation, because both depend on the agent: its card declares the extensions.
    tenant(agents, versions),
    ...authentication.last,
    extensions(versions),
    validate(limits),
  ];
  // Not async, like the interceptors: `admission` catches synchronous exceptions.
  return chain(interceptors, ({ method, request, call, served }): Promise<InvocationResult> => {
    const run = methods[method.localName as keyof ServiceMethods] as
      | ((request: Message, context: Context) => InvocationResult | Promise<InvocationResult>)
      | undefined;
    if (run === undefined || served === undefined) throw new A2AError("METHOD_NOT_FOUND", "Method not found.");
    if (method.methodKind !== "unary" && served.card.capabilities?.streaming !== true) {
      throw new A2AError("UNSUPPORTED_OPERATION", "The agent does not support streaming.");
    }
    const answer = run(request, { call, served });
    return answer instanceof Promise ? answer : Promise.resolve(answer);
  });
}

/** Returns the author's interceptors with a time limit, because an author's code may never return. */
function boundedInterceptors({ interceptors = [] }: ServiceOptions): readonly ServiceInterceptor[] {
  if (interceptors.length === 0) return [];
  const { outer, inner } = boundInterceptors();
  return [outer, ...interceptors, inner];
}

/** Returns the interceptors that identify the caller, or none for a server without authentication. */
function authenticationOf(options: ServiceOptions): {
  first: readonly ServiceInterceptor[];
  last: readonly ServiceInterceptor[];
} {
  const { agents, authenticator, ownerOf, limits, logger, audit, resourceMetadata, ignoresSecurity = false } = options;
  if (!ignoresSecurity && agents.all.some(({ agent }) => agent.security !== undefined)) {
    const mayMove = (options.interceptors ?? []).length > 0;
    const parts = {
      agents,
      limits,
      logger,
      audit,
      signals: options.engine.signals,
      mayMove,
      resourceMetadata,
      ownerOf,
      ...(authenticator !== undefined && { authenticator }),
    };
    const { first, last } = enforceSecurity(parts);
    return { first: [first], last: [last] };
  }
  return { first: authenticator === undefined ? [] : [authenticate(authenticator, ownerOf)], last: [] };
}

/** The eleven operations of section 3.1. */
function createMethods(options: ServiceOptions): ServiceMethods {
  const parts: OperationParts = {
    options,
    budget: new OutgoingBudget(options.limits),
    subscriptions: new Subscriptions(options.limits),
  };
  return {
    ...sendOperations(parts),
    ...taskOperations(parts),
    ...subscribeOperation(parts),
    ...pushOperations(parts),
    ...cardOperation(parts),
  };
}
