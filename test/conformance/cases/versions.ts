import { servedVersions } from "../../../src/version/versions.js";
import { absent, like, not, present } from "../../support/match.js";
import { type Case, call, everyOperation, refused, say, stream } from "../case.js";

const notHere = {
  grpc: "metadata, no query",
  connect: "the client writes the URL",
  "grpc-web": "the client writes the URL",
};

/** Versions in the header. */
const accepted: readonly (string | null)[] = ["1.0", "1.0.0", "1.0.1", "1.0.99", null];
const unsupported = [
  "",
  "0.9",
  "1.1",
  "1.1.0",
  "2.0",
  "10.0",
  "1",
  "v1.0",
  "1.0.0.0",
  "1.x",
  "1,0",
  "latest",
  "1.0, 2.0",
];

const title = (version: string | null): string => (version === null ? "no version" : `the version "${version}"`);

/** The error for a version that the server does not speak. */
const refusal = { reason: "VERSION_NOT_SUPPORTED", info: { supportedVersions: servedVersions.text } } as const;

/** The protocol version of a request. */
export const versionCases: readonly Case[] = [
  ...accepted.map(
    (version): Case => ({
      name: `a request with ${title(version)} is answered`,
      ids: ["SRV-VER-01", "SRV-VER-04", "SRV-VER-07", "SRV-GRPC-03"],
      steps: [
        call("SendMessage", say("echo hi"), { message: { task: present } }, { headers: { "A2A-Version": version } }),
        ...stream(
          "SendStreamingMessage",
          say("quiet"),
          { events: [present, present] },
          { headers: { "A2A-Version": version } },
        ),
      ],
    }),
  ),
  ...unsupported.map(
    (version): Case => ({
      name: `a request with ${title(version)} is refused`,
      ids: ["SRV-VER-02", "SRV-VER-03", "SRV-VER-07", "SRV-VER-08", "SRV-VER-09", "SRV-ERR-06"],
      steps: [
        ...["SendMessage", "SendStreamingMessage"].flatMap((rpc) =>
          refused(rpc, say("echo hi", { contextId: "{run}" }), refusal, {
            headers: { "A2A-Version": version },
          }),
        ),
        call("ListTasks", { contextId: "{run}" }, { message: { tasks: absent } }),
      ],
    }),
  ),
  {
    name: "the version is checked for every operation",
    ids: ["SRV-VER-02"],
    steps: everyOperation.flatMap(([rpc, request]) =>
      refused(rpc, request, refusal, { headers: { "A2A-Version": "2.0" } }),
    ),
  },
  {
    name: "the name of the header is the same in any case",
    ids: ["SRV-SVC-01", "SRV-SVC-02"],
    steps: ["a2a-version", "A2A-VERSION"].flatMap((name) =>
      refused("ListTasks", {}, refusal, { headers: { [name]: "2.0" } }),
    ),
  },
  {
    name: "the version may stand in the query instead",
    ids: ["SRV-VER-06"],
    except: notHere,
    steps: [
      call(
        "ListTasks",
        { contextId: "{run}" },
        { message: { pageSize: 50 } },
        {
          headers: { "A2A-Version": null },
          query: { "A2A-Version": "1.0" },
        },
      ),
      call("ListTasks", {}, { error: refusal }, { headers: { "A2A-Version": null }, query: { "A2A-Version": "2.0" } }),
      call("ListTasks", {}, { error: refusal }, { headers: { "A2A-Version": null }, query: { "A2A-Version": "" } }),
      ...refused("SendStreamingMessage", say("echo hi"), refusal, {
        headers: { "A2A-Version": null },
        query: { "A2A-Version": "0.9" },
      }),
    ],
  },
  {
    name: "a strict server takes a request of 1.0 without a version for one of version 0.3, which it is not",
    ids: ["SRV-VER-03", "SRV-VER-01"],
    setup: "strict",
    steps: [
      ...["SendMessage", "SendStreamingMessage"].flatMap((rpc) =>
        refused(rpc, say("echo hi"), refusal, { headers: { "A2A-Version": null } }),
      ),
      call("SendMessage", say("echo hi"), { message: { task: present } }),
    ],
  },
  {
    name: "nothing that was sent comes back unshortened",
    ids: ["SRV-ERR-18"],
    steps: [
      call(
        "ListTasks",
        {},
        { error: { reason: "VERSION_NOT_SUPPORTED", message: not(like(/9{65}/)) } },
        {
          headers: { "A2A-Version": "9".repeat(500) },
        },
      ),
    ],
  },
];
