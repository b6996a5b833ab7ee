import { create } from "@bufbuild/protobuf";
import {
  type A2AService,
  type StreamResponse,
  StreamResponseSchema,
  type Task,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { AgentRegistration } from "../../card/agents.js";
import type { Call } from "../../core/call.js";
import type { Scope } from "../../engine/engine.js";
import { versionFactsOf } from "../../version/facts.js";
import { mark, weightOf } from "../../wire/marks.js";
import type { Subscriptions } from "../caller-shares.js";
import type { MethodTable } from "../invoke.js";
import type { ServiceOptions } from "../options.js";
import type { OutgoingBudget } from "../outgoing-budget.js";
import { withGeneration } from "../resume.js";

/** The context of an operation's request. */
export interface Context {
  readonly call: Call;
  readonly served: AgentRegistration;
}

export interface OperationParts {
  readonly options: ServiceOptions;
  readonly budget: OutgoingBudget;
  readonly subscriptions: Subscriptions;
}

/** One function per rpc of the contract. */
export type ServiceMethods = MethodTable<(typeof A2AService)["method"], Context>;

/** Returns the scope of tasks that a call may see: those of its caller under its tenant. */
export function scopeOf(call: Call): Scope {
  return { tenant: call.tenant, owner: call.caller.owner, namesTasks: versionFactsOf(call).namesTasks };
}

/** Returns the first message of a stream: the current task. */
export function taskResponse(call: Call, task: Task, generation: number): StreamResponse {
  const response = create(StreamResponseSchema);
  response.payload = { case: "task", value: withGeneration(call, task, generation) };
  return mark(response, { generation, weight: weightOf(task) });
}
