import { absent, anId, like, type Pattern, present } from "../../support/match.js";
import { type Case, call, everyOperation, isStreaming, refused, say, stream } from "../case.js";

const may1 = "urn:example:ext:may:v1";
const may2 = "urn:example:ext:may:v2";
const must = "urn:example:ext:must:v1";

const withExtensions = (value: string | readonly string[]) => ({ headers: { "A2A-Extensions": value } });

/** The active extensions that the agent sees. */
const agentSees = (extensions: readonly string[]): Pattern => ({
  task: { artifacts: [{ parts: [{ data: { extensions } }] }] },
});

/** A request for extensions, and the expected active ones. */
function activation(
  name: string,
  asked: string | readonly string[],
  active: readonly string[],
  ids: readonly string[],
): Case {
  const headers = { "a2a-extensions": active.length === 0 ? absent : active.join(",") };
  return {
    name,
    ids,
    steps: [
      call("SendMessage", say("turn"), { message: agentSees(active), headers }, withExtensions(asked)),
      ...stream("SendStreamingMessage", say("quiet"), { events: [present, present], headers }, withExtensions(asked)),
    ],
  };
}

/** Activation of extensions. */
export const extensionCases: readonly Case[] = [
  {
    name: "an answer has the client's own id, or a new one",
    ids: ["SRV-SVC-01", "SRV-SVC-02"],
    steps: [
      call("ListTasks", {}, { headers: { "x-request-id": anId } }),
      call("GetTask", { id: "unknown" }, { error: { reason: "TASK_NOT_FOUND" }, headers: { "x-request-id": anId } }),
      call(
        "ListTasks",
        {},
        { headers: { "x-request-id": "client-{run}" } },
        { headers: { "X-Request-Id": "client-{run}" } },
      ),
      call(
        "GetTask",
        { id: "unknown" },
        { error: { reason: "TASK_NOT_FOUND" }, headers: { "x-request-id": "client-{run}" } },
        { headers: { "X-Request-Id": "client-{run}" } },
      ),
    ],
  },
  {
    name: "no extension is in force unless it is asked for",
    ids: ["SRV-EXT-10"],
    steps: [call("SendMessage", say("turn"), { message: agentSees([]), headers: { "a2a-extensions": absent } })],
  },
  activation(
    "an extension that is asked for is in force, and the answer says so",
    may1,
    [may1],
    ["SRV-EXT-01", "SRV-EXT-09", "SRV-SVC-03"],
  ),
  activation("several are asked for in one list", `${may2} ,${may1}`, [may1, may2], ["SRV-EXT-09", "SRV-SVC-03"]),
  activation("several are asked for in several headers", [may1, may2], [may1, may2], ["SRV-SVC-03"]),
  activation("what is not known is ignored", `urn:example:other, ${may1},,`, [may1], ["SRV-EXT-03"]),
  activation(
    "there is no falling back to another version",
    "urn:example:ext:may:v3,urn:example:ext:may",
    [],
    ["SRV-EXT-03", "SRV-EXT-05"],
  ),
  activation("upper and lower case differ in a URI", "URN:EXAMPLE:EXT:MAY:V1", [], ["SRV-SVC-01"]),
  {
    name: "a required extension has to be asked for, whatever the operation",
    ids: ["SRV-EXT-02", "SRV-EXT-04", "SRV-ERR-06"],
    setup: "demanding",
    steps: everyOperation.flatMap(([rpc, request]) => [
      ...refused(rpc, request, { reason: "EXTENSION_SUPPORT_REQUIRED", info: { extension: must } }),
      ...refused(
        rpc,
        request,
        { reason: "EXTENSION_SUPPORT_REQUIRED" },
        withExtensions(`${may1}, urn:example:ext:must:v2`),
      ),
    ]),
  },
  {
    name: "with the required extension every operation is served",
    ids: ["SRV-EXT-02"],
    setup: "demanding",
    steps: [
      call(
        "SendMessage",
        say("turn"),
        { message: agentSees([must]), headers: { "a2a-extensions": must } },
        withExtensions(must),
      ),
      ...stream("SendStreamingMessage", say("quiet"), { events: [present, present] }, withExtensions(must)),
      call("ListTasks", {}, { message: { pageSize: 50 } }, withExtensions(must)),
      call("GetTask", { id: "unknown" }, { error: { reason: "TASK_NOT_FOUND" } }, withExtensions(must)),
    ],
  },
  {
    name: "nobody asks for more extensions than the server allows",
    ids: ["SRV-SEC-04"],
    steps: everyOperation
      .filter(([rpc]) => !isStreaming(rpc))
      .map(([rpc, request]) =>
        call(
          rpc,
          request,
          { error: { reason: "INVALID_PARAMS", fields: ["a2a-extensions"], message: like(/more than 32/) } },
          withExtensions(Array.from({ length: 33 }, (_, i) => `urn:${i}`).join(",")),
        ),
      ),
  },
];
