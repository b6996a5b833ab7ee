import { EmptySchema } from "@bufbuild/protobuf/wkt";
import {
  ListTaskPushNotificationConfigsResponseSchema,
  type TaskPushNotificationConfig,
  TaskPushNotificationConfigSchema,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { A2AClient } from "../../client/client.js";
import { attempt } from "../../core/members.js";
import { given } from "../../core/options.js";
import { checkCapability } from "./capability.js";
import { type Context, ownOption, type Run } from "./context.js";
import { usage, usageOf } from "./errors.js";
import { stdinText } from "./inputs.js";
import { httpUrl, secret, wholeNumber } from "./kinds.js";
import { field, fields } from "./text.js";

/** `task push-config create`: registers a webhook of a task, and prints its configuration. */
export const create: Run = async (context, [taskId = "", operand]) => {
  const named = ownOption(context, "url", httpUrl) ?? operand;
  if (named === undefined) throw usage("the webhook has no URL", "name it by --url");
  const url = attempt(() => httpUrl(named), usageOf(`the webhook: ${JSON.stringify(named)} `));
  const id = context.own("id").at(-1);
  const token = ownOption(context, "token", secret);
  const authentication = await authenticationOf(context);
  if (token !== undefined) context.out.redactor.add(token);
  const client = await clientFor(context, taskId);
  const request = { taskId, url, ...given({ id, token, authentication }) };
  print(context, await client.createTaskPushNotificationConfig(request, { signal: context.signal }));
};

export const get: Run = async (context, [taskId = "", id = ""]) => {
  const client = await clientFor(context, taskId);
  print(context, await client.getTaskPushNotificationConfig({ taskId, id }, { signal: context.signal }));
};

/** `task push-config list`: prints a page of the configurations of a task. */
export const list: Run = async (context, [taskId = ""]) => {
  const pageSize = ownOption(context, "limit", wholeNumber(1, 100));
  const pageToken = context.own("page-token").at(-1);
  const client = await clientFor(context, taskId);
  const page = await client.listTaskPushNotificationConfigs(
    { taskId, ...given({ pageSize, pageToken }) },
    { signal: context.signal },
  );
  const { out } = context;
  if (out.mode.isJson) return out.message(ListTaskPushNotificationConfigsResponseSchema, page);
  for (const config of page.configs) out.text(`${formatPushConfig(config)}\n`);
  if (page.nextPageToken !== "") out.text(field("Next Page Token", page.nextPageToken));
};

export const remove: Run = async (context, [taskId = "", id = ""]) => {
  const client = await clientFor(context, taskId);
  const empty = await client.deleteTaskPushNotificationConfig({ taskId, id }, { signal: context.signal });
  if (context.out.mode.isJson) context.out.message(EmptySchema, empty);
  else context.out.text(field("Deleted", id));
};

async function clientFor(context: Context, taskId: string): Promise<A2AClient> {
  context.noteTask(taskId, "");
  const agent = await context.agent();
  checkCapability(agent, "pushNotifications");
  return agent.client;
}

/** Reads how the agent authenticates at the webhook. Credentials come from a variable or stdin, or visibly from a flag. */
async function authenticationOf(
  context: Context,
): Promise<{ readonly scheme: string; readonly credentials: string } | undefined> {
  const { io } = context;
  const scheme = context.own("auth-scheme").at(-1);
  const given = context.own("auth-credentials").at(-1);
  const isFromStdin = given === "-";
  const credentials = isFromStdin
    ? (await stdinText(context, "--auth-credentials")).trim()
    : (given ?? io.env.A2ACLI_AUTH_CREDENTIALS ?? "");
  if (credentials !== "") {
    context.out.redactor.add(credentials);
    attempt(() => secret(credentials), usageOf("--auth-credentials "));
  }
  if (scheme !== undefined) return { scheme, credentials };
  if (given !== undefined) throw usage("--auth-credentials needs --auth-scheme");
  return undefined;
}

function print({ out }: Context, config: TaskPushNotificationConfig): void {
  if (out.mode.isJson) out.message(TaskPushNotificationConfigSchema, config);
  else out.text(formatPushConfig(config));
}

/** Text never shows the token and the credentials, which agents may return. */
function formatPushConfig({ id, taskId, url, token, authentication }: TaskPushNotificationConfig): string {
  const { scheme = "", credentials = "" } = authentication ?? {};
  return fields({
    "Task ID": taskId,
    "Config ID": id,
    URL: url,
    Token: token === "" ? undefined : "set",
    Authentication: credentials === "" ? scheme || undefined : `${scheme} (credentials set)`,
  });
}
