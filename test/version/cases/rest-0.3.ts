import type { Case } from "./case.js";
import { canceledOverRest, configSetOverRest, finishedOverRest, heldOverRest } from "./given.js";
import { answered, anyNumber, get, post, postRaw, protoSaid, remove, said, streamed } from "./shapes.js";

/** Version 0.3 over HTTP+JSON. */
export const restCases: readonly Case[] = [
  {
    id: "v03-rest-01",
    version: "0.3",
    binding: "HTTP+JSON",
    name: "joke",
    request: post("${rest}/v1/message:send", { message: protoSaid("tell me a joke") }),
    expect: answered(
      {
        task: {
          id: "$string",
          contextId: "$string",
          kind: "$absent",
          status: { state: "TASK_STATE_COMPLETED" },
          artifacts: [
            {
              artifactId: "$string",
              name: "joke",
              parts: [{ text: "Why did the chicken cross the road? To get to the other side!" }],
            },
          ],
        },
      },
      { $oneOf: [200, 201] },
    ),
  },
  {
    id: "v03-rest-02",
    version: "0.3",
    binding: "HTTP+JSON",
    name: "direct message is wrapped",
    request: post("${rest}/v1/message:send", { message: protoSaid("direct: hi") }),
    expect: answered(
      { message: { messageId: "$string", role: "ROLE_AGENT", content: [{ text: "hi" }] }, task: "$absent" },
      { $oneOf: [200, 201] },
    ),
  },
  {
    id: "v03-rest-03",
    version: "0.3",
    binding: "HTTP+JSON",
    name: "part list may also be called parts",
    request: post("${rest}/v1/message:send", {
      message: { messageId: "m-1", role: "ROLE_USER", parts: [{ text: "hello" }] },
    }),
    expect: answered(
      {
        task: {
          id: "$string",
          contextId: "$string",
          kind: "$absent",
          status: { state: "TASK_STATE_COMPLETED" },
          artifacts: [{ artifactId: "$string", name: "echo", parts: [{ text: "hello" }] }],
        },
      },
      { $oneOf: [200, 201] },
    ),
  },
  {
    id: "v03-rest-04",
    version: "0.3",
    binding: "HTTP+JSON",
    name: "schema dialect is understood",
    request: post("${rest}/v1/message:send", { message: said("hello") }),
    expect: answered(
      { task: { id: "$string", status: { state: { $oneOf: ["completed", "TASK_STATE_COMPLETED"] } } } },
      { $oneOf: [200, 201] },
    ),
  },
  {
    id: "v03-rest-05",
    version: "0.3",
    binding: "HTTP+JSON",
    name: "file by bytes",
    request: post("${rest}/v1/message:send", {
      message: {
        messageId: "m-1",
        role: "ROLE_USER",
        content: [{ file: { fileWithBytes: "aVZCT1J3MEtHZ28=", mimeType: "image/png" } }],
      },
    }),
    expect: answered(
      {
        task: {
          id: "$string",
          contextId: "$string",
          kind: "$absent",
          status: { state: "TASK_STATE_COMPLETED" },
          artifacts: [
            {
              artifactId: "$string",
              name: "echo",
              parts: [{ file: { fileWithBytes: "aVZCT1J3MEtHZ28=", mimeType: "image/png" } }],
            },
          ],
        },
      },
      { $oneOf: [200, 201] },
    ),
  },
  {
    id: "v03-rest-06",
    version: "0.3",
    binding: "HTTP+JSON",
    name: "file by uri",
    request: post("${rest}/v1/message:send", {
      message: {
        messageId: "m-1",
        role: "ROLE_USER",
        content: [{ file: { fileWithUri: "https://files.example.com/a.pdf", mimeType: "application/pdf" } }],
      },
    }),
    expect: answered(
      {
        task: {
          id: "$string",
          contextId: "$string",
          kind: "$absent",
          status: { state: "TASK_STATE_COMPLETED" },
          artifacts: [
            {
              artifactId: "$string",
              name: "echo",
              parts: [{ file: { fileWithUri: "https://files.example.com/a.pdf", mimeType: "application/pdf" } }],
            },
          ],
        },
      },
      { $oneOf: [200, 201] },
    ),
  },
  {
    id: "v03-rest-07",
    version: "0.3",
    binding: "HTTP+JSON",
    name: "data part is nested twice",
    request: post("${rest}/v1/message:send", {
      message: { messageId: "m-1", role: "ROLE_USER", content: [{ data: { data: { a: 1 } } }] },
    }),
    expect: answered(
      {
        task: {
          id: "$string",
          contextId: "$string",
          kind: "$absent",
          status: { state: "TASK_STATE_COMPLETED" },
          artifacts: [{ artifactId: "$string", name: "echo", parts: [{ data: { data: { a: 1 } } }] }],
        },
      },
      { $oneOf: [200, 201] },
    ),
  },
  {
    id: "v03-rest-08",
    version: "0.3",
    binding: "HTTP+JSON",
    name: "input required carries status.message",
    request: post("${rest}/v1/message:send", { message: protoSaid("I'd like to book a flight.") }),
    expect: answered(
      {
        task: {
          id: "$string",
          contextId: "$string",
          kind: "$absent",
          status: {
            state: "TASK_STATE_INPUT_REQUIRED",
            message: {
              role: "ROLE_AGENT",
              content: [
                {
                  text: "Sure, I can help with that! Where would you like to fly to, and from where? Also, what are your preferred travel dates?",
                },
              ],
            },
          },
        },
      },
      { $oneOf: [200, 201] },
    ),
  },
  {
    id: "v03-rest-09",
    version: "0.3",
    binding: "HTTP+JSON",
    name: "get task",
    given: [finishedOverRest],
    request: get("${rest}/v1/tasks/${taskId}"),
    expect: answered({ id: "${taskId}", task: "$absent", status: { state: "TASK_STATE_COMPLETED" } }),
  },
  {
    id: "v03-rest-10",
    version: "0.3",
    binding: "HTTP+JSON",
    name: "get task with history length",
    given: [finishedOverRest],
    request: get("${rest}/v1/tasks/${taskId}?historyLength=1"),
    expect: answered({ id: "${taskId}", history: { $length: 1 } }),
  },
  {
    id: "v03-rest-11",
    version: "0.3",
    binding: "HTTP+JSON",
    name: "history length is not a number",
    given: [finishedOverRest],
    request: get("${rest}/v1/tasks/${taskId}?historyLength=x"),
    expect: { status: { $oneOf: [400, 422] }, body: { message: "$string", code: { $oneOf: [-32602, "$absent"] } } },
  },
  {
    id: "v03-rest-12",
    version: "0.3",
    binding: "HTTP+JSON",
    name: "get unknown task",
    request: get("${rest}/v1/tasks/no-such-task"),
    expect: { status: 404, body: { message: "$string", code: { $oneOf: [-32001, "$absent"] } } },
  },
  {
    id: "v03-rest-13",
    version: "0.3",
    binding: "HTTP+JSON",
    name: "cancel: two l in the proto spelling",
    given: [heldOverRest],
    request: post("${rest}/v1/tasks/${taskId}:cancel", {}),
    expect: { status: { $oneOf: [200, 202] }, body: { id: "${taskId}", status: { state: "TASK_STATE_CANCELLED" } } },
  },
  {
    id: "v03-rest-14",
    version: "0.3",
    binding: "HTTP+JSON",
    name: "cancel a finished task",
    given: [finishedOverRest],
    request: post("${rest}/v1/tasks/${taskId}:cancel", {}),
    expect: { status: { $oneOf: [409, 400] }, body: { message: "$string", code: { $oneOf: [-32002, "$absent"] } } },
  },
  {
    id: "v03-rest-15",
    version: "0.3",
    binding: "HTTP+JSON",
    name: "stream: bare wrapped payloads without envelope",
    request: post("${rest}/v1/message:stream", {
      message: protoSaid("write a long paper describing the attached pictures"),
    }),
    expect: streamed([
      {
        task: { id: "$string", contextId: "$string", kind: "$absent", status: { state: "$string" } },
        jsonrpc: "$absent",
      },
      anyNumber({ statusUpdate: { status: { state: "TASK_STATE_WORKING" }, final: { $oneOf: [false, "$absent"] } } }),
      {
        artifactUpdate: {
          taskId: "$string",
          contextId: "$string",
          artifact: { artifactId: "$string", parts: [{ text: "<section 1...>" }] },
        },
      },
      { artifactUpdate: { artifact: { parts: [{ text: "<section 2...>" }] }, append: true } },
      { artifactUpdate: { artifact: { parts: [{ text: "<section 3...>" }] }, append: true, lastChunk: true } },
      {
        statusUpdate: {
          taskId: "$string",
          contextId: "$string",
          status: { state: "TASK_STATE_COMPLETED" },
          final: true,
        },
      },
    ]),
  },
  {
    id: "v03-rest-16",
    version: "0.3",
    binding: "HTTP+JSON",
    name: "subscribe by GET",
    given: [heldOverRest],
    request: get("${rest}/v1/tasks/${taskId}:subscribe"),
    expect: {
      ...streamed([
        anyNumber({
          $oneOf: [{ task: { id: "${taskId}" } }, { statusUpdate: { status: { state: "TASK_STATE_WORKING" } } }],
        }),
        { statusUpdate: { taskId: "${taskId}", status: { state: "TASK_STATE_CANCELLED" }, final: true } },
      ]),
      during: [canceledOverRest],
    },
  },
  {
    id: "v03-rest-17",
    version: "0.3",
    binding: "HTTP+JSON",
    name: "subscribe by POST",
    given: [heldOverRest],
    request: post("${rest}/v1/tasks/${taskId}:subscribe", {}),
    expect: {
      ...streamed([
        anyNumber({
          $oneOf: [{ task: { id: "${taskId}" } }, { statusUpdate: { status: { state: "TASK_STATE_WORKING" } } }],
        }),
        { statusUpdate: { taskId: "${taskId}", status: { state: "TASK_STATE_CANCELLED" }, final: true } },
      ]),
      during: [canceledOverRest],
    },
  },
  {
    id: "v03-rest-18",
    version: "0.3",
    binding: "HTTP+JSON",
    name: "set push config, full request object",
    given: [heldOverRest],
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
  },
  {
    id: "v03-rest-19",
    version: "0.3",
    binding: "HTTP+JSON",
    name: "set push config, inner object only",
    given: [heldOverRest],
    request: post("${rest}/v1/tasks/${taskId}/pushNotificationConfigs", {
      name: "tasks/${taskId}/pushNotificationConfigs/p2",
      pushNotificationConfig: { id: "p2", url: "${webhook}" },
    }),
    expect: answered({ name: "tasks/${taskId}/pushNotificationConfigs/p2" }, { $oneOf: [200, 201] }),
  },
  {
    id: "v03-rest-20",
    version: "0.3",
    binding: "HTTP+JSON",
    name: "get push config",
    given: [heldOverRest, configSetOverRest],
    request: get("${rest}/v1/tasks/${taskId}/pushNotificationConfigs/p1"),
    expect: answered({
      name: "tasks/${taskId}/pushNotificationConfigs/p1",
      pushNotificationConfig: { id: "p1", url: "${webhook}" },
    }),
  },
  {
    id: "v03-rest-21",
    version: "0.3",
    binding: "HTTP+JSON",
    name: "list push configs",
    given: [heldOverRest, configSetOverRest],
    request: get("${rest}/v1/tasks/${taskId}/pushNotificationConfigs"),
    expect: answered({
      configs: [
        { name: "tasks/${taskId}/pushNotificationConfigs/p1", pushNotificationConfig: { id: "p1", url: "${webhook}" } },
      ],
    }),
  },
  {
    id: "v03-rest-22",
    version: "0.3",
    binding: "HTTP+JSON",
    name: "delete push config",
    given: [heldOverRest, configSetOverRest],
    request: remove("${rest}/v1/tasks/${taskId}/pushNotificationConfigs/p1"),
    expect: { status: { $oneOf: [204, 200] } },
  },
  {
    id: "v03-rest-23",
    version: "0.3",
    binding: "HTTP+JSON",
    name: "extended card",
    server: { auth: "bearer", extendedCard: true },
    request: get("${rest}/v1/card", { headers: { Authorization: "Bearer ${token}" } }),
    expect: answered({ name: "$string", skills: "$array" }),
  },
  {
    id: "v03-rest-24",
    version: "0.3",
    binding: "HTTP+JSON",
    name: "extended card not offered",
    server: { extendedCard: false },
    request: get("${rest}/v1/card"),
    expect: { status: { $oneOf: [404, 400] }, body: { message: "$string", code: { $oneOf: [-32007, "$absent"] } } },
  },
  {
    id: "v03-rest-25",
    version: "0.3",
    binding: "HTTP+JSON",
    name: "listing tasks is refused",
    request: get("${rest}/v1/tasks"),
    expect: { status: { $oneOf: [404, 405, 501, 400] } },
  },
  {
    id: "v03-rest-26",
    version: "0.3",
    binding: "HTTP+JSON",
    name: "malformed body",
    request: postRaw("${rest}/v1/message:send", "{"),
    expect: { status: 400, body: { message: "$string", code: { $oneOf: [-32700, "$absent"] } } },
  },
  {
    id: "v03-rest-27",
    version: "0.3",
    binding: "HTTP+JSON",
    name: "missing message",
    request: post("${rest}/v1/message:send", {}),
    expect: { status: { $oneOf: [400, 422] }, body: { message: "$string", code: { $oneOf: [-32602, "$absent"] } } },
  },
  {
    id: "v03-rest-28",
    version: "0.3",
    binding: "HTTP+JSON",
    name: "push without the capability",
    server: { pushNotifications: false },
    given: [heldOverRest],
    request: post("${rest}/v1/tasks/${taskId}/pushNotificationConfigs", {
      parent: "tasks/${taskId}",
      configId: "p1",
      config: {
        name: "tasks/${taskId}/pushNotificationConfigs/p1",
        pushNotificationConfig: { id: "p1", url: "${webhook}", token: "t" },
      },
    }),
    expect: { status: { $oneOf: [400, 501] }, body: { message: "$string", code: { $oneOf: [-32003, "$absent"] } } },
  },
  {
    id: "v03-rest-29",
    version: "0.3",
    binding: "HTTP+JSON",
    name: "stream without the capability",
    server: { streaming: false },
    request: post("${rest}/v1/message:stream", { message: protoSaid("hello") }),
    expect: { status: { $oneOf: [400, 501] }, body: { message: "$string", code: { $oneOf: [-32004, "$absent"] } } },
  },
];
