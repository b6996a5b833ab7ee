import { absent, anId, like, noItems, present } from "../../support/match.js";
import { type Case, call, open, read, refused, type Step, say } from "../case.js";
import { hook } from "../hook.js";
import { asked, done } from "./steps.js";

const create = "CreateTaskPushNotificationConfig";
const get = "GetTaskPushNotificationConfig";
const list = "ListTaskPushNotificationConfigs";
const remove = "DeleteTaskPushNotificationConfig";

const secrets = { token: "secret-token", authentication: { scheme: "Bearer", credentials: "secret-credentials" } };
/** A configuration with these secrets as a client reads it, without the secrets. */
const shown = { url: hook, token: absent, authentication: { scheme: "Bearer", credentials: absent } };
const notFound = { reason: "TASK_NOT_FOUND", info: { taskId: "{taskId}" } } as const;

/** Creates configurations with these ids. */
const made = (...ids: readonly string[]): readonly Step[] =>
  ids.map((id) => call(create, { taskId: "{taskId}", id, url: hook }, { message: { id } }));

const listed = (...ids: readonly string[]): Step =>
  call(list, { taskId: "{taskId}" }, { message: { configs: ids.length === 0 ? noItems : ids.map((id) => ({ id })) } });

const kept: readonly Case[] = [
  {
    name: "a configuration gets an id and can be read, listed and deleted",
    ids: ["SRV-PCFG-05", "SRV-PCFG-09", "SRV-PCFG-11", "SRV-PCFG-13", "SRV-PCFG-16", "SRV-PCFG-18"],
    setup: "pushing",
    steps: [
      asked,
      call(
        create,
        { taskId: "{taskId}", url: hook, ...secrets },
        { message: { id: anId, taskId: "{taskId}", ...shown }, save: { configId: "id" } },
      ),
      call(
        get,
        { taskId: "{taskId}", id: "{configId}" },
        { message: { id: "{configId}", taskId: "{taskId}", ...shown } },
      ),
      call(
        list,
        { taskId: "{taskId}" },
        { message: { configs: [{ id: "{configId}", taskId: "{taskId}", ...shown }], nextPageToken: absent } },
      ),
      call(remove, { taskId: "{taskId}", id: "{configId}" }, { message: {} }),
      call(get, { taskId: "{taskId}", id: "{configId}" }, { error: notFound }),
      listed(),
    ],
  },
  {
    name: "an id may be the client's own, and replaces the configuration that has it",
    ids: ["SRV-PCFG-05"],
    setup: "pushing",
    steps: [
      asked,
      ...made("one", "two"),
      call(
        create,
        { taskId: "{taskId}", id: "one", url: `${hook}/other`, ...secrets },
        { message: { id: "one", url: `${hook}/other` } },
      ),
      call(get, { taskId: "{taskId}", id: "one" }, { message: { ...shown, url: `${hook}/other` } }),
      listed("one", "two"),
    ],
  },
  {
    name: "ids may have what paths have to encode",
    ids: ["SRV-PCFG-09", "SRV-PCFG-13"],
    setup: "pushing",
    steps: ["a/b", "%2e%2e", "...", "a?b#c", "a+b&c=d;e,f", "~!@$'()*:", '"<>\\^`|'].flatMap((id) => [
      asked,
      ...made(id),
      listed(id),
      call(get, { taskId: "{taskId}", id }, { message: { id } }),
      call(remove, { taskId: "{taskId}", id }, { message: {} }),
      listed(),
    ]),
  },
  {
    name: "deleting is the same again, and for what never was",
    ids: ["SRV-PCFG-15", "SRV-PCFG-16"],
    setup: "pushing",
    steps: [
      asked,
      ...made("one"),
      ...["one", "one", "two"].map((id) => call(remove, { taskId: "{taskId}", id }, { message: {} })),
      listed(),
    ],
  },
  {
    name: "a list of configurations comes in pages, whose tokens are for their task",
    ids: ["SRV-PCFG-11", "SRV-PCFG-12"],
    setup: "pushing",
    steps: [
      asked,
      ...made("a", "b", "c"),
      call(
        list,
        { taskId: "{taskId}", pageSize: 2 },
        { message: { configs: [{ id: "a" }, { id: "b" }], nextPageToken: present }, save: { token: "nextPageToken" } },
      ),
      call(
        list,
        { taskId: "{taskId}", pageSize: 2, pageToken: "{token}" },
        { message: { configs: [{ id: "c" }], nextPageToken: absent } },
      ),
      call(list, { taskId: "{taskId}", pageSize: 3 }, { message: { nextPageToken: absent } }),
      // A larger page size counts as the maximum.
      call(list, { taskId: "{taskId}", pageSize: 1_000_000 }, { message: { nextPageToken: absent } }),
      asked,
      ...["{token}", "nonsense"].map((pageToken) =>
        call(
          list,
          { taskId: "{taskId}", pageSize: 2, pageToken },
          { error: { reason: "INVALID_PARAMS", fields: ["pageToken"] } },
        ),
      ),
    ],
  },
  {
    name: "a task that is over keeps its configurations",
    ids: ["SRV-PCFG-06"],
    setup: "pushing",
    steps: [asked, ...made("one"), call("CancelTask", { id: "{taskId}" }, { message: present }), listed("one")],
  },
];

const withSends: readonly Case[] = [
  {
    name: "a configuration that comes with a message is one of its task",
    ids: ["SRV-SEND-17", "SRV-PCFG-04"],
    setup: "pushing",
    steps: [
      call(
        "SendMessage",
        say("ask Which one?", {}, { configuration: { taskPushNotificationConfig: { url: hook, ...secrets } } }),
        { message: { task: present }, save: { taskId: "task.id" } },
      ),
      call(
        list,
        { taskId: "{taskId}" },
        { message: { configs: [{ id: anId, taskId: "{taskId}", ...shown }] }, save: { configId: "configs[0].id" } },
      ),
      call(get, { taskId: "{taskId}", id: "{configId}" }, { message: shown }),
      call(
        "SendMessage",
        say(
          "ask Once more?",
          { taskId: "{taskId}" },
          { configuration: { taskPushNotificationConfig: { taskId: "{taskId}", id: "mine", url: hook } } },
        ),
        { message: { task: present } },
      ),
      call(get, { taskId: "{taskId}", id: "mine" }, { message: { id: "mine", url: hook } }),
    ],
  },
  {
    name: "so is one that comes with a message that is streamed, or not waited for",
    ids: ["SRV-SEND-06", "SRV-SEND-17"],
    setup: "pushing",
    steps: [
      open(
        "first",
        "SendStreamingMessage",
        say("ask Which one?", {}, { configuration: { taskPushNotificationConfig: { id: "streamed", url: hook } } }),
      ),
      read("first", [{ task: present }], { taskId: "[0].task.id" }),
      listed("streamed"),
      call(
        "SendMessage",
        say(
          "ask Which one?",
          {},
          { configuration: { returnImmediately: true, taskPushNotificationConfig: { id: "quick", url: hook } } },
        ),
        { message: { task: present }, save: { taskId: "task.id" } },
      ),
      listed("quick"),
    ],
  },
  {
    name: "a retry under an idempotency key makes no second configuration",
    ids: ["SRV-SEND-17"],
    setup: "pushing",
    steps: [
      ...[1, 2].map(() =>
        call(
          "SendMessage",
          {
            ...say("ask Which one?", { messageId: "{run}" }),
            configuration: { taskPushNotificationConfig: { url: hook } },
          },
          { message: { task: present }, save: { taskId: "task.id" } },
          { headers: { "Idempotency-Key": "{run}" } },
        ),
      ),
      call(list, { taskId: "{taskId}" }, { message: { configs: [{ id: anId }] } }),
    ],
  },
  {
    name: "with a direct answer there is nothing to notify of",
    ids: ["SRV-SEND-06"],
    setup: "pushingEither",
    steps: [
      call("SendMessage", say("direct Hi.", {}, { configuration: { taskPushNotificationConfig: { url: hook } } }), {
        message: { message: present },
      }),
    ],
  },
  {
    name: "a bad configuration refuses its message, and no task is made",
    ids: ["SRV-SEND-17", "SRV-PCFG-19", "SRV-PCFG-20", "SRV-PCFG-22"],
    setup: "pushing",
    steps: [
      ...["SendMessage", "SendStreamingMessage"].flatMap((rpc) =>
        (
          [
            [{ url: "https://127.0.0.2:9/a" }, "url"],
            [{ url: "https://hooks.example/a" }, "url"],
            [{ url: hook, taskId: "other" }, "taskId"],
            [{ url: hook, token: "a\r\nb" }, "token"],
          ] as const
        ).flatMap(([config, field]) =>
          refused(
            rpc,
            say("echo hi", { contextId: "{run}" }, { configuration: { taskPushNotificationConfig: config } }),
            { reason: "INVALID_PARAMS", fields: [`configuration.taskPushNotificationConfig.${field}`] },
          ),
        ),
      ),
      call("ListTasks", { contextId: "{run}" }, { message: { tasks: absent } }),
    ],
  },
];

const long = (length: number): string => "x".repeat(length);

/** Configurations that are refused, with the fields at fault. */
const invalid: readonly (readonly [config: Record<string, unknown>, fields: readonly string[]])[] = [
  [{ url: "" }, ["url"]],
  [{ url: "not a url" }, ["url"]],
  [{ url: "/relative" }, ["url"]],
  [{ url: "ftp://127.0.0.1:9/a" }, ["url"]],
  [{ url: "http://user:secret@127.0.0.1:9/a" }, ["url"]],
  [{ url: `${hook}#fragment` }, ["url"]],
  [{ url: "http://127.0.0.1:10/a" }, ["url"]],
  [{ url: "http://127.0.0.2:9/a" }, ["url"]],
  [{ url: "http://[::1]:9/a" }, ["url"]],
  [{ url: "http://10.0.0.1:9/a" }, ["url"]],
  [{ url: "http://169.254.169.254:9/a" }, ["url"]],
  [{ url: "http://localhost:9/a" }, ["url"]],
  [{ url: `${hook}/${long(2_048)}` }, ["url"]],
  [{ url: hook, id: long(257) }, ["id"]],
  [{ url: hook, id: "a b" }, ["id"]],
  [{ url: hook, id: "ä" }, ["id"]],
  [{ url: hook, id: "a\nb" }, ["id"]],
  [{ url: hook, id: ".." }, ["id"]],
  [{ url: hook, token: "a\r\nX-Evil: 1" }, ["token"]],
  [{ url: hook, token: "a\u0000b" }, ["token"]],
  [{ url: hook, token: " padded" }, ["token"]],
  [{ url: hook, token: "tökén" }, ["token"]],
  [{ url: hook, token: long(4_097) }, ["token"]],
  [{ url: hook, authentication: { credentials: "x" } }, ["authentication.scheme"]],
  [{ url: hook, authentication: { scheme: "Bearer x", credentials: "y" } }, ["authentication.scheme"]],
  [{ url: hook, authentication: { scheme: "Bearer\r\nX-Evil:", credentials: "y" } }, ["authentication.scheme"]],
  [{ url: hook, authentication: { scheme: long(65) } }, ["authentication.scheme"]],
  [{ url: hook, authentication: { scheme: "Bearer", credentials: "a\nb" } }, ["authentication.credentials"]],
  [{ url: hook, authentication: { scheme: "Bearer", credentials: "a\u007f" } }, ["authentication.credentials"]],
  [{ url: hook, authentication: { scheme: "Bearer", credentials: long(4_097) } }, ["authentication.credentials"]],
  [
    { url: "", id: "a b", token: "\n", authentication: { scheme: "", credentials: "\r" } },
    ["url", "id", "token", "authentication.scheme", "authentication.credentials"],
  ],
];

const refusals: readonly Case[] = [
  {
    name: "a configuration that could not be delivered to, or would forge a header, is refused",
    ids: ["SRV-PCFG-07", "SRV-PCFG-19", "SRV-PCFG-20"],
    setup: "pushing",
    steps: [
      asked,
      ...invalid.map(([config, fields]) =>
        call(create, { taskId: "{taskId}", ...config } as never, { error: { reason: "INVALID_PARAMS", fields } }),
      ),
      listed(),
    ],
  },
  {
    name: "http is refused unless it is allowed",
    ids: ["SRV-PCFG-22"],
    setup: "pushingSecurely",
    steps: [
      asked,
      call(
        create,
        { taskId: "{taskId}", url: hook },
        { error: { reason: "INVALID_PARAMS", fields: ["url"], message: like(/https/) } },
      ),
      call(create, { taskId: "{taskId}", url: hook.replace("http:", "https:") }, { message: { id: anId } }),
    ],
  },
  {
    name: "configurations of a task that is not there are not found",
    ids: ["SRV-PCFG-03", "SRV-PCFG-10"],
    setup: "pushing",
    steps: [
      ...(
        [
          [create, { url: hook }],
          // A caller without the task learns nothing about URLs.
          [create, { url: "http://127.0.0.2:9/a" }],
          [get, { id: "one" }],
          [list, {}],
          [remove, { id: "one" }],
        ] as const
      ).map(([rpc, request]) =>
        call(
          rpc,
          { taskId: "unknown", ...request },
          { error: { reason: "TASK_NOT_FOUND", info: { taskId: "unknown" } } },
        ),
      ),
      asked,
      call(get, { taskId: "{taskId}", id: "unknown" }, { error: notFound }),
      call(get, { taskId: "{taskId}", id: long(256) }, { error: notFound }),
      call(get, { taskId: "{taskId}", id: long(257) }, { error: { reason: "INVALID_PARAMS", fields: ["id"] } }),
      call(remove, { taskId: "{taskId}", id: long(257) }, { error: { reason: "INVALID_PARAMS", fields: ["id"] } }),
    ],
  },
  {
    name: "a task, and a caller, have so many configurations",
    ids: ["SRV-PCFG-04"],
    setup: "pushingLittle",
    steps: [
      asked,
      ...made("a", "b"),
      call(
        create,
        { taskId: "{taskId}", id: "c", url: hook },
        { error: { reason: "TOO_MANY_REQUESTS", info: { limit: "maxPushConfigsPerTask" } } },
      ),
      ...made("b"),
      call(
        "SendMessage",
        say("ask x", { contextId: "{run}" }, { configuration: { taskPushNotificationConfig: { id: "d", url: hook } } }),
        { error: { reason: "TOO_MANY_REQUESTS", info: { limit: "maxPushConfigsPerOwner" } } },
      ),
      call("ListTasks", { contextId: "{run}" }, { message: { tasks: absent } }),
    ],
  },
  {
    name: "an agent may say that it has no push notifications, and one without tasks has none",
    ids: ["SRV-PCFG-01", "SRV-SEND-18"],
    setup: "pushingNot",
    steps: [
      done,
      call(create, { taskId: "{taskId}", url: hook }, { error: { reason: "PUSH_NOTIFICATION_NOT_SUPPORTED" } }),
      call("SendMessage", say("echo hi", {}, { configuration: { taskPushNotificationConfig: { url: hook } } }), {
        error: { reason: "PUSH_NOTIFICATION_NOT_SUPPORTED" },
      }),
    ],
  },
];

const as = (name: string, tenant = "north"): { tenant: string; options: { headers: { Authorization: string } } } => ({
  tenant,
  options: { headers: { Authorization: `Bearer ${name}` } },
});

/** Every operation on an existing configuration, by a caller that may not see its task. */
const hiddenFrom = ({ tenant, options }: ReturnType<typeof as>): readonly Step[] =>
  (
    [
      [create, { id: "one", url: hook }],
      [create, { url: "http://127.0.0.2:9/a" }],
      [get, { id: "one" }],
      [list, {}],
      [remove, { id: "one" }],
    ] as const
  ).map(([rpc, request]) => call(rpc, { tenant, taskId: "{taskId}", ...request }, { error: notFound }, options));

const owners: readonly Case[] = [
  {
    name: "nobody sees, makes or deletes the configurations of somebody else's task",
    ids: ["SRV-PCFG-02", "SRV-PCFG-03", "SRV-PCFG-10"],
    setup: "pushingOwners",
    steps: [
      call(
        "SendMessage",
        { tenant: "north", ...say("ask Which one?") },
        { message: { task: present }, save: { taskId: "task.id" } },
        as("alice").options,
      ),
      call(
        create,
        { tenant: "north", taskId: "{taskId}", id: "one", url: hook, ...secrets },
        { message: { tenant: "north", id: "one", ...shown } },
        as("alice").options,
      ),
      ...hiddenFrom(as("bob")),
      ...hiddenFrom(as("alice", "south")),
      ...hiddenFrom(as("bob", "south")),
      call(
        list,
        { tenant: "north", taskId: "{taskId}" },
        { message: { configs: [{ tenant: "north", id: "one", ...shown }] } },
        as("alice").options,
      ),
    ],
  },
  {
    name: "a page token is good for its caller alone",
    ids: ["SRV-PCFG-12"],
    setup: "pushingOwners",
    steps: [
      ...(["alice", "bob"] as const).flatMap((name) => [
        call(
          "SendMessage",
          { tenant: "north", ...say("ask Which one?") },
          { message: { task: present }, save: { [name]: "task.id" } },
          as(name).options,
        ),
        ...["a", "b"].map((id) =>
          call(create, { tenant: "north", taskId: `{${name}}`, id, url: hook }, { message: { id } }, as(name).options),
        ),
      ]),
      call(
        list,
        { tenant: "north", taskId: "{alice}", pageSize: 1 },
        { message: { nextPageToken: present }, save: { token: "nextPageToken" } },
        as("alice").options,
      ),
      call(
        list,
        { tenant: "north", taskId: "{bob}", pageSize: 1, pageToken: "{token}" },
        { error: { reason: "INVALID_PARAMS", fields: ["pageToken"] } },
        as("bob").options,
      ),
    ],
  },
];

/** Push notification configurations on servers that send notifications (specification 3.1.7 to 3.1.10, 13.2). */
export const pushCases: readonly Case[] = [...kept, ...withSends, ...refusals, ...owners];
