import { absent, all, anId, like, not, type Pattern } from "../../support/match.js";
import { type Case, call, say } from "../case.js";

/** A send that ends with these artifacts. */
function leaves(name: string, text: string, artifacts: Pattern, ids: readonly string[]): Case {
  const task = { status: { state: "TASK_STATE_COMPLETED" }, artifacts };
  return { name, ids, steps: [call("SendMessage", say(text), { message: { task } })] };
}

/** A send that fails with a text for the client. */
function fails(name: string, text: string, words: Pattern, ids: readonly string[]): Case {
  const task = { status: { state: "TASK_STATE_FAILED", message: { parts: [{ text: words }] } } };
  return { name, ids, steps: [call("SendMessage", say(text), { message: { task } })] };
}

const unusual = 'ü "quoted" \\ 🤖 \u0001\u2028 </script> \r\n\n data: x';

const noLeak: Pattern = all(like(/Reference: \S+/), not(like(/hunter2|secret|\.ts:|Error/)));

/** Agents' values that JSON cannot represent, or that a reader would reject. */
const unspeakable: readonly (readonly [command: string, what: string])[] = [
  ["infinite", "a number without end"],
  ["unnumbered", "what is no number"],
  ["bottomless", "data nested too deep"],
  ["undefined", "a member without a value"],
];

const careless: readonly Case[] = unspeakable.map(([command, what]) => ({
  name: `an agent that says ${what} has failed, and its task can be read`,
  ids: ["SRV-JSON-09", "SRV-GEN-04"],
  setup: "careless",
  steps: [
    call("SendMessage", say(command, { contextId: "{run}" }), {
      message: { task: { status: { state: "TASK_STATE_FAILED", message: { parts: [{ text: like(/not valid/) }] } } } },
      save: { taskId: "task.id" },
    }),
    call("GetTask", { id: "{taskId}" }, { message: { artifacts: absent } }),
    call("ListTasks", { contextId: "{run}", includeArtifacts: true }, { message: { totalSize: 1 } }),
  ],
}));

/** Results of tasks, including those of agents that break the rules. */
export const resultCases: readonly Case[] = [
  ...careless,
  leaves(
    "half of a character that an agent says is told as the replacement character",
    "halved",
    [{ parts: [{ text: "half of a pair: \ufffd" }] }],
    ["SRV-JSON-14", "SRV-GEN-04"],
  ),
  leaves(
    "pieces of an artifact are put together",
    "stream 3",
    [{ artifactId: anId, name: "pieces", parts: [{ text: "piece 1" }, { text: "piece 2" }, { text: "piece 3" }] }],
    ["SRV-STRM-18", "SRV-CTX-16"],
  ),
  leaves(
    "an artifact that comes again replaces the one before",
    "replace",
    [
      { artifactId: "one", name: "final", parts: [{ text: "second" }] },
      { artifactId: "two", parts: [{ text: "other" }] },
    ],
    ["SRV-STRM-18", "SRV-CTX-16"],
  ),
  leaves(
    "bytes of a file arrive as they are",
    "file",
    [{ parts: [{ raw: "++//AA==", mediaType: "application/octet-stream", filename: "four.bin" }] }],
    ["SRV-SEND-21", "SRV-JSON-06"],
  ),
  leaves(
    "a link to a file arrives as it is",
    "url",
    [{ parts: [{ url: "https://files.example/report.pdf", mediaType: "application/pdf" }] }],
    ["SRV-SEND-21"],
  ),
  leaves(
    "data arrives as it is, null included",
    "data",
    [{ parts: [{ data: { list: [1, 2.5, "three", null, true], inner: { empty: {} } } }] }, { parts: [{ data: null }] }],
    ["SRV-SEND-21", "SRV-JSON-07", "SRV-JSON-09"],
  ),
  leaves(
    "data of an extension stands below its URI",
    "annotated",
    [
      {
        description: "With notes.",
        metadata: { "urn:example:ext:may:v1": { rank: 1 } },
        extensions: ["urn:example:ext:may:v1"],
      },
    ],
    ["SRV-EXT-08"],
  ),
  leaves(
    "a text may hold anything that Unicode has",
    `echo ${unusual}`,
    [{ parts: [{ text: unusual }] }],
    ["SRV-JSON-14", "SRV-SEC-07"],
  ),
  {
    name: "a failed task keeps what was there",
    ids: ["SRV-SEND-04"],
    steps: [
      call("SendMessage", say("fail No luck."), {
        message: { task: { status: { state: "TASK_STATE_FAILED" }, artifacts: [{ parts: [{ text: "half of it" }] }] } },
      }),
    ],
  },
  fails("the text of an agent's own error is told", "error The oven is cold.", "The oven is cold.", ["SRV-ERR-02"]),
  fails("nothing but a reference is told of any other error", "crash", noLeak, ["SRV-ERR-18", "SRV-ERR-15"]),
  fails("nor when it comes before anything else", "crashfirst", noLeak, ["SRV-ERR-18"]),
  fails("an artifact without parts is no answer", "bare", like(/at least one part/), ["SRV-GEN-11"]),
  fails("a message without parts is no answer", "speechless", like(/at least one part/), ["SRV-GEN-11"]),
  fails("a task is not answered by a direct message", "replying", like(/not valid/), ["SRV-ERR-17"]),
  fails("no task goes back to the state of a new one", "resubmit", like(/not valid|unexpectedly/), ["SRV-ERR-17"]),
  {
    name: "nothing follows the end of a task",
    ids: ["SRV-STRM-06"],
    steps: [
      call("SendMessage", say("talkative"), {
        message: { task: { status: { state: "TASK_STATE_COMPLETED" }, artifacts: absent } },
        save: { taskId: "task.id" },
      }),
      call(
        "GetTask",
        { id: "{taskId}" },
        {
          message: {
            status: { state: "TASK_STATE_COMPLETED", message: { parts: [{ text: "Done." }] } },
            artifacts: absent,
          },
        },
      ),
    ],
  },
];
