import type { Step } from "./case.js";
import { answered, call, eventStream, ok, post, protoSaid, result, rpc, said, said01, sent, text } from "./shapes.js";

/** A task of 0.3 that works until it is canceled. */
export const heldTask: Step = {
  request: call("message/send", { message: said("hold: wait"), configuration: { blocking: false } }),
  expect: result({
    kind: "task",
    id: "$string",
    contextId: "$string",
    status: { state: { $oneOf: ["submitted", "working"] } },
  }),
  capture: { taskId: "/body/result/id", contextId: "/body/result/contextId" },
};

/** A task of 0.3 that is over. */
export const finishedTask: Step = {
  request: call("message/send", { message: said("hello") }),
  expect: result({ kind: "task", id: "$string", contextId: "$string", status: { state: "completed" } }),
  capture: { taskId: "/body/result/id", contextId: "/body/result/contextId" },
};

/** The same as `heldTask` over HTTP+JSON. */
export const heldOverRest: Step = {
  request: post("${rest}/v1/message:send", { message: protoSaid("hold: wait"), configuration: { blocking: false } }),
  expect: answered(
    { task: { id: "$string", status: { state: { $oneOf: ["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"] } } } },
    { $oneOf: [200, 201] },
  ),
  capture: { taskId: "/body/task/id", contextId: "/body/task/contextId" },
};

/** A push configuration `p1` of the task. */
export const configSet: Step = {
  request: call(
    "tasks/pushNotificationConfig/set",
    {
      taskId: "${taskId}",
      pushNotificationConfig: {
        id: "p1",
        url: "${webhook}",
        token: "secure-client-token-for-task-aaa",
        authentication: { schemes: ["Bearer"], credentials: "abc" },
      },
    },
    { id: 5 },
  ),
  expect: result({ taskId: "${taskId}", pushNotificationConfig: { id: "p1", url: "${webhook}" } }, 5),
};

/** The same as `heldTask` over gRPC. */
export const heldOverGrpc: Step = {
  request: rpc("SendMessage", { message: protoSaid("hold: wait"), configuration: { blocking: false } }),
  expect: ok({
    task: { id: "$string", status: { state: { $oneOf: ["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"] } } },
  }),
  capture: { taskId: "/body/task/id", contextId: "/body/task/contextId" },
};

/** A task of 0.1 that works until it is canceled, whose client has left the stream. */
export const heldIn01: Step = {
  request: call("tasks/sendSubscribe", { id: "${uuid:a}", message: said01("hold: wait") }),
  expect: {
    status: 200,
    headers: eventStream,
    firstEvent: sent({
      id: "${uuid:a}",
      kind: "$absent",
      taskId: "$absent",
      status: { state: { $oneOf: ["submitted", "working"] } },
      final: { $oneOf: [false, "$absent"] },
    }),
    thenDisconnect: true,
  },
};

/** The same as `finishedTask` over HTTP+JSON. */
export const finishedOverRest: Step = {
  request: post("${rest}/v1/message:send", { message: protoSaid("hello") }),
  expect: answered({ task: { id: "$string", status: { state: "TASK_STATE_COMPLETED" } } }, { $oneOf: [200, 201] }),
  capture: { taskId: "/body/task/id", contextId: "/body/task/contextId" },
};

/** A task of 0.3 that waits for an answer. */
export const flightAskedFor: Step = {
  request: call(
    "message/send",
    {
      message: {
        kind: "message",
        role: "user",
        messageId: "c53ba666-3f97-433c-a87b-6084276babe2",
        parts: [text("I'd like to book a flight.")],
      },
    },
    { id: "req-003" },
  ),
  expect: result(
    {
      kind: "task",
      id: "$string",
      contextId: "$string",
      status: {
        state: "input-required",
        message: {
          kind: "message",
          role: "agent",
          messageId: "$string",
          parts: [
            text(
              "Sure, I can help with that! Where would you like to fly to, and from where? Also, what are your preferred travel dates?",
            ),
          ],
        },
      },
    },
    "req-003",
  ),
  capture: { taskId: "/body/result/id", contextId: "/body/result/contextId" },
};

/** The same as `configSet` over HTTP+JSON. */
export const configSetOverRest: Step = {
  request: post("${rest}/v1/tasks/${taskId}/pushNotificationConfigs", {
    parent: "tasks/${taskId}",
    configId: "p1",
    config: {
      name: "tasks/${taskId}/pushNotificationConfigs/p1",
      pushNotificationConfig: { id: "p1", url: "${webhook}", token: "t" },
    },
  }),
  expect: answered(
    { name: "tasks/${taskId}/pushNotificationConfigs/p1", pushNotificationConfig: { id: "p1", url: "${webhook}" } },
    { $oneOf: [200, 201] },
  ),
};

/** The same as `finishedTask` over gRPC. */
export const finishedOverGrpc: Step = {
  request: rpc("SendMessage", { message: protoSaid("hello") }),
  expect: ok({ task: { status: { state: "TASK_STATE_COMPLETED" } } }),
  capture: { taskId: "/body/task/id", contextId: "/body/task/contextId" },
};

/** A task of 0.1 that is over. */
export const finishedIn01: Step = {
  request: call("tasks/send", { id: "${uuid:a}", message: said01("hello"), sessionId: "${uuid:s}" }),
  expect: result({ id: "${uuid:a}", kind: "$absent", contextId: "$absent", status: { state: "completed" } }),
};

/** Ends the task while a stream of it is open. */
export const canceledOverRest: Step = {
  request: post("${rest}/v1/tasks/${taskId}:cancel", {}),
  expect: { status: { $oneOf: [200, 202] } },
};

/** The same as `configSet` over gRPC. */
export const configSetOverGrpc: Step = {
  request: rpc("CreateTaskPushNotificationConfig", {
    parent: "tasks/${taskId}",
    configId: "p1",
    config: {
      name: "tasks/${taskId}/pushNotificationConfigs/p1",
      pushNotificationConfig: { id: "p1", url: "${webhook}" },
    },
  }),
  expect: ok({
    name: "tasks/${taskId}/pushNotificationConfigs/p1",
    pushNotificationConfig: { id: "p1", url: "${webhook}" },
  }),
};

/** A task of 0.1 that waits for an answer. */
export const phoneAskedFor: Step = {
  request: call("tasks/send", {
    id: "${uuid:a}",
    message: said01("buy me a new phone"),
    sessionId: "${uuid:s}",
    metadata: {},
  }),
  expect: result({ id: "${uuid:a}", kind: "$absent", contextId: "$absent", status: { state: "input-required" } }),
};
