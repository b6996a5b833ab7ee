import type { DescMethod } from "@bufbuild/protobuf";
import type { StreamResponse, Task } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Call } from "../../core/call.js";
import type { JsonRpcMethod } from "../jsonrpc.js";
import type { Serve } from "../serve.js";
import { mapEvents } from "../translate.js";
import { resumedIn, showsIds } from "./behaviour.js";
import { OlderEvents } from "./events.js";
import { jsonRpc } from "./jsonrpc.js";
import { shownTask, withoutHistory } from "./view.js";

/** Source of a stream in the format of 0.1. */
export interface Subscription {
  readonly taskId: string;
  readonly call: Call;
  readonly service: Serve;
}

/** Responses to calls of 0.3, for the methods that both versions have and tasks of 0.1. */
export const older = {
  /** @param historyLength requested number of messages; undefined means none in 0.1 */
  task(task: Task, historyLength: number | undefined): Task {
    const shown = shownTask(task);
    return historyLength === undefined ? withoutHistory(shown) : shown;
  },

  async events(
    events: AsyncIterable<StreamResponse>,
    { taskId, call, service }: Subscription,
    mark: (event: StreamResponse) => StreamResponse,
  ): Promise<AsyncIterable<StreamResponse>> {
    const resumed = await resumedIn(call, taskId, service);
    return mapEvents(new OlderEvents(events, { taskId, resumed, hasIds: showsIds(call) }), mark);
  },
};

/** Writes the responses. */
export const writers = {
  of(desc: DescMethod): Pick<JsonRpcMethod, "write" | "pieces"> {
    return jsonRpc.methods.find((method) => method.desc === desc) as JsonRpcMethod;
  },
};
