import { absent, anId, having, like, type Pattern, present } from "../../support/match.js";
import { type Case, call, everyOperation, refused, say, stream } from "../case.js";
import { done } from "./steps.js";

const hook = "https://hooks.example/a";

/** Operations that need push notifications, on an existing task. */
const pushOperations = [
  ["CreateTaskPushNotificationConfig", { taskId: "{taskId}", url: hook }],
  ["GetTaskPushNotificationConfig", { taskId: "{taskId}", id: "one" }],
  ["ListTaskPushNotificationConfigs", { taskId: "{taskId}" }],
  ["DeleteTaskPushNotificationConfig", { taskId: "{taskId}", id: "one" }],
] as const;

const interfaces: Pattern = having({
  url: like(/^http:\/\/127\.0\.0\.1:\d+$/),
  protocolBinding: "JSONRPC",
  protocolVersion: "1.0",
});

/** Calls that need a capability which the agent does not declare fail with the error of that capability. */
export const capabilityCases: readonly Case[] = [
  {
    name: "an agent that does not stream refuses both streams and answers calls",
    ids: ["SRV-STRM-01", "SRV-SUB-01", "SRV-ERR-06", "SRV-ERR-16", "SRV-GEN-08"],
    setup: "unstreamed",
    steps: [
      ...stream("SendStreamingMessage", say("echo hi", { contextId: "{run}" }), {
        error: { reason: "UNSUPPORTED_OPERATION" },
      }),
      call("ListTasks", { contextId: "{run}" }, { message: { tasks: absent } }),
      call("SendMessage", say("ask Which one?"), { message: { task: present }, save: { taskId: "task.id" } }),
      ...stream("SubscribeToTask", { id: "{taskId}" }, { error: { reason: "UNSUPPORTED_OPERATION" } }),
    ],
  },
  ...pushOperations.map(
    ([rpc, request]): Case => ({
      name: `${rpc} is refused without push notifications`,
      ids: ["SRV-PCFG-01", "SRV-ERR-06", "SRV-ERR-16", "SRV-GEN-08"],
      steps: [done, call(rpc, request, { error: { reason: "PUSH_NOTIFICATION_NOT_SUPPORTED" } })],
    }),
  ),
  {
    name: "a webhook in a send is refused without push notifications, and no task is made",
    ids: ["SRV-SEND-18", "SRV-ERR-06"],
    steps: [
      ...["SendMessage", "SendStreamingMessage"].flatMap((rpc) =>
        refused(
          rpc,
          say("echo hi", { contextId: "{run}" }, { configuration: { taskPushNotificationConfig: { url: hook } } }),
          { reason: "PUSH_NOTIFICATION_NOT_SUPPORTED" },
        ),
      ),
      call("ListTasks", { contextId: "{run}" }, { message: { tasks: absent } }),
    ],
  },
  {
    name: "there is no extended card unless one is declared",
    ids: ["SRV-XCRD-01", "SRV-ERR-06", "SRV-ERR-16"],
    steps: [call("GetExtendedAgentCard", {}, { error: { reason: "UNSUPPORTED_OPERATION" } })],
  },
  {
    name: "an extended card that is declared and not there has an error of its own",
    ids: ["SRV-XCRD-02", "SRV-ERR-06"],
    setup: "promising",
    steps: [call("GetExtendedAgentCard", {}, { error: { reason: "EXTENDED_AGENT_CARD_NOT_CONFIGURED" } })],
  },
  {
    name: "callers get the extended card that is for them",
    ids: ["SRV-XCRD-04", "SRV-XCRD-06", "SRV-XCRD-07", "SRV-XCRD-09", "SRV-GEN-09", "SRV-CARD-07"],
    setup: "owners",
    steps: ["alice", "bob"].map((owner) =>
      call(
        "GetExtendedAgentCard",
        {},
        {
          message: {
            name: "owners",
            version: "1.2.3",
            description: `For ${owner} alone.`,
            skills: [{ id: "extra", tags: ["extra"] }],
            capabilities: { streaming: true, extendedAgentCard: true },
            supportedInterfaces: interfaces,
            defaultInputModes: ["text/plain", "application/json"],
            securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: "Bearer" } } },
            signatures: absent,
          },
          headers: { "cache-control": like(/private/) },
        },
        { headers: { Authorization: `Bearer ${owner}` } },
      ),
    ),
  },
  {
    name: "an extended card may be refused",
    ids: ["SRV-XCRD-05", "SRV-XCRD-12", "SRV-AUTH-05"],
    setup: "owners",
    steps: [
      call(
        "GetExtendedAgentCard",
        {},
        { error: { reason: "PERMISSION_DENIED" } },
        { headers: { Authorization: "Bearer alice:none" } },
      ),
    ],
  },
  {
    name: "an extended card is for those who are known",
    ids: ["SRV-XCRD-03", "SRV-XCRD-12"],
    setup: "guests",
    steps: [
      call("SendMessage", say("echo hi"), { message: { task: { id: anId } } }),
      call(
        "GetExtendedAgentCard",
        {},
        {
          error: { reason: "UNAUTHENTICATED" },
          headers: { "www-authenticate": 'Bearer realm="tests"' },
        },
      ),
      call(
        "GetExtendedAgentCard",
        {},
        { message: { description: "For bob alone." } },
        { headers: { Authorization: "Bearer bob" } },
      ),
    ],
  },
  {
    name: "every operation of the contract is answered by more than its absence",
    ids: ["SRV-GEN-03", "SRV-GEN-08"],
    // Each operation fails here with this error instead of that for an unknown method.
    setup: "demanding",
    steps: everyOperation.flatMap(([rpc, request]) => refused(rpc, request, { reason: "EXTENSION_SUPPORT_REQUIRED" })),
  },
];
