import type { JsonObject } from "@bufbuild/protobuf";
import { absent, anId, type Pattern } from "../../support/match.js";
import { type Case, call, type Step, say } from "../case.js";

/** A task with three messages in its history and a fourth in its status. */
const talked: readonly Step[] = [
  call("SendMessage", say("ask One?", { messageId: "{run}-1", contextId: "{run}" }), { save: { taskId: "task.id" } }),
  call("SendMessage", say("ask Two?", { messageId: "{run}-2", taskId: "{taskId}" }), {
    message: { task: { status: { state: "TASK_STATE_INPUT_REQUIRED" } } },
  }),
];

const first: Pattern = { messageId: "{run}-1", role: "ROLE_USER" };
const question: Pattern = { role: "ROLE_AGENT", parts: [{ text: "One?" }] };
const second: Pattern = { messageId: "{run}-2", role: "ROLE_USER" };
const stillAsking: Pattern = { state: "TASK_STATE_INPUT_REQUIRED", message: { parts: [{ text: "Two?" }] } };

/** Expected history for each requested length. */
const lengths: readonly (readonly [asked: JsonObject, history: Pattern])[] = [
  [{}, [first, question, second]],
  [{ historyLength: 0 }, absent],
  [{ historyLength: 1 }, [second]],
  [{ historyLength: 2 }, [question, second]],
  [{ historyLength: 3 }, [first, question, second]],
  [{ historyLength: 2147483647 }, [first, question, second]],
];

const title = (asked: JsonObject): string => `historyLength ${asked.historyLength ?? "unset"}`;

const got: readonly Case[] = lengths.map(([asked, history]) => ({
  name: `GetTask and ListTasks with ${title(asked)}`,
  ids: [
    "SRV-HIST-01",
    "SRV-HIST-02",
    "SRV-HIST-03",
    "SRV-HIST-04",
    "SRV-HIST-05",
    "SRV-GET-01",
    "SRV-GET-04",
    "SRV-LIST-16",
    "SRV-GRPC-07",
    "SRV-GEN-12",
  ],
  steps: [
    ...talked,
    call("GetTask", { id: "{taskId}", ...asked }, { message: { history, status: stillAsking } }),
    call("ListTasks", { contextId: "{run}", ...asked }, { message: { tasks: [{ history, status: stillAsking }] } }),
  ],
}));

const sent: readonly Case[] = lengths.map(([asked, history]) => ({
  name: `SendMessage with ${title(asked)}`,
  ids: ["SRV-SEND-19", "SRV-HIST-02", "SRV-HIST-03", "SRV-HIST-05"],
  steps: [
    call("SendMessage", say("ask One?", { messageId: "{run}-1" }), { save: { taskId: "task.id" } }),
    call("SendMessage", say("ask Two?", { messageId: "{run}-2", taskId: "{taskId}" }, { configuration: asked }), {
      message: { task: { history, status: stillAsking } },
    }),
  ],
}));

const negative: Case = {
  name: "a negative historyLength is refused wherever it stands",
  ids: ["SRV-HIST-04", "SRV-LIST-13"],
  steps: [
    ...talked,
    call(
      "GetTask",
      { id: "{taskId}", historyLength: -1 },
      { error: { reason: "INVALID_PARAMS", fields: ["historyLength"] } },
    ),
    call("ListTasks", { historyLength: -1 }, { error: { reason: "INVALID_PARAMS", fields: ["historyLength"] } }),
    call("SendMessage", say("echo hi", { contextId: "{run}-none" }, { configuration: { historyLength: -1 } }), {
      error: { reason: "INVALID_PARAMS", fields: ["configuration.historyLength"] },
    }),
    call("ListTasks", { contextId: "{run}-none" }, { message: { tasks: absent } }),
  ],
};

const agents: Case = {
  name: "the agent sees all of the history before the message",
  ids: ["SRV-CTX-13", "SRV-HIST-09"],
  steps: [
    ...talked,
    call("SendMessage", say("history", { taskId: "{taskId}" }, { configuration: { historyLength: 0 } }), {
      message: { task: { history: absent, artifacts: [{ parts: [{ data: ["{run}-1", anId, "{run}-2", anId] }] }] } },
    }),
  ],
};

/** Length of the history in answers. */
export const historyCases: readonly Case[] = [...got, ...sent, negative, agents];
