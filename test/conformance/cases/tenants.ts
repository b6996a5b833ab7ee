import { absent, type Pattern, present } from "../../support/match.js";
import { type Case, call, everyOperation, refused, type Step, say } from "../case.js";

const tenantError = { reason: "INVALID_PARAMS", fields: ["tenant"] } as const;

/** The tenant that the agent sees. */
const agentSees = (tenant: string): Pattern => ({ task: { artifacts: [{ parts: [{ data: { tenant } }] }] } });

/** Asks a question in a tenant. Its task is saved as `taskId`. */
const askedIn = (tenant: string): Step =>
  call("SendMessage", say("ask Which one?", { contextId: "{run}" }, { tenant }), {
    message: { task: present },
    save: { taskId: "task.id" },
  });

/** Checks that another tenant cannot see, change or follow the task. */
const hiddenIn = (tenant: string): readonly Step[] => [
  call("GetTask", { id: "{taskId}", tenant }, { error: { reason: "TASK_NOT_FOUND" } }),
  call("CancelTask", { id: "{taskId}", tenant }, { error: { reason: "TASK_NOT_FOUND" } }),
  ...refused("SubscribeToTask", { id: "{taskId}", tenant }, { reason: "TASK_NOT_FOUND" }),
  call("SendMessage", say("echo hi", { taskId: "{taskId}" }, { tenant }), { error: { reason: "TASK_NOT_FOUND" } }),
  ...refused("SendStreamingMessage", say("echo hi", { taskId: "{taskId}" }, { tenant }), { reason: "TASK_NOT_FOUND" }),
  call("ListTasks", { contextId: "{run}", tenant }, { message: { tasks: absent, totalSize: absent } }),
  call("SendMessage", say("references", { referenceTaskIds: ["{taskId}"] }, { tenant }), {
    message: { task: { artifacts: [{ parts: [{ data: [] }] }] } },
  }),
];

/** The tenant, which selects the agent or the tasks of a request. */
export const tenantCases: readonly Case[] = [
  {
    name: "the tenant leads to its agent",
    ids: ["SRV-TEN-01", "SRV-TEN-02", "SRV-TEN-03"],
    setup: "departments",
    steps: ["billing", "support"].flatMap((tenant): Step[] => [
      call("SendMessage", say("turn", {}, { tenant }), { message: agentSees(tenant), save: { taskId: "task.id" } }),
      call("GetTask", { id: "{taskId}", tenant }, { message: { id: "{taskId}" } }),
    ]),
  },
  {
    name: "where tenants are declared, one of them has to be named, whatever the operation",
    ids: ["SRV-TEN-02"],
    setup: "departments",
    steps: everyOperation.flatMap(([rpc, request]) => [
      ...refused(rpc, request, tenantError),
      ...refused(rpc, { ...request, tenant: "sales" }, tenantError),
    ]),
  },
  {
    name: "every operation is served below its tenant",
    ids: ["SRV-TEN-03", "SRV-GEN-03"],
    setup: "departments",
    steps: [
      ...["GetTask", "CancelTask", "SubscribeToTask"].flatMap((rpc) =>
        refused(rpc, { id: "unknown", tenant: "billing" }, { reason: "TASK_NOT_FOUND" }),
      ),
      call("ListTasks", { tenant: "billing", contextId: "{run}" }, { message: { pageSize: 50 } }),
      call("GetExtendedAgentCard", { tenant: "billing" }, { error: { reason: "UNSUPPORTED_OPERATION" } }),
      ...everyOperation
        .filter(([rpc]) => rpc.includes("PushNotification"))
        .map(([rpc, request]) =>
          call(rpc, { ...request, tenant: "billing" }, { error: { reason: "PUSH_NOTIFICATION_NOT_SUPPORTED" } }),
        ),
    ],
  },
  {
    name: "tasks of one tenant do not exist for another",
    ids: ["SRV-TEN-04", "SRV-CTX-15"],
    setup: "departments",
    steps: [
      askedIn("billing"),
      ...hiddenIn("support"),
      call("GetTask", { id: "{taskId}", tenant: "billing" }, { message: present }),
    ],
  },
  {
    name: "one agent serves its tenants, and requests without one, apart from each other",
    ids: ["SRV-TEN-01", "SRV-TEN-04", "SRV-REST-09"],
    setup: "tenants",
    steps: [
      call("SendMessage", say("turn", {}, { tenant: "süd" }), { message: agentSees("süd") }),
      call("SendMessage", say("turn"), { message: agentSees("") }),
      call("SendMessage", say("turn", {}, { tenant: "west" }), { error: tenantError }),
      askedIn("süd"),
      ...hiddenIn("north"),
      call("GetTask", { id: "{taskId}" }, { error: { reason: "TASK_NOT_FOUND" } }),
      call("GetTask", { id: "{taskId}", tenant: "süd" }, { message: present }),
    ],
  },
  {
    name: "tenants keep one owner's tasks apart, and owners those of one tenant",
    ids: ["SRV-TEN-04", "SRV-AUTH-09"],
    setup: "both",
    steps: [
      ...(
        [
          ["north", "alice"],
          ["south", "alice"],
          ["north", "bob"],
        ] as const
      ).map(([tenant, owner]) =>
        call(
          "SendMessage",
          say(`echo ${owner} ${tenant}`, { contextId: "{run}" }, { tenant }),
          { message: present },
          as(owner),
        ),
      ),
      call(
        "ListTasks",
        { contextId: "{run}", tenant: "north", includeArtifacts: true },
        { message: { totalSize: 1, tasks: [{ artifacts: [{ parts: [{ text: "alice north" }] }] }] } },
        as("alice"),
      ),
    ],
  },
  {
    name: "an agent without tenants takes any value as a name for tasks of their own",
    ids: ["SRV-TEN-01"],
    steps: [
      askedIn("a:b {run}"),
      ...hiddenIn("other"),
      call("GetTask", { id: "{taskId}", tenant: "a:b {run}" }, { message: present }),
    ],
  },
];

function as(owner: string): { headers: { Authorization: string } } {
  return { headers: { Authorization: `Bearer ${owner}` } };
}
