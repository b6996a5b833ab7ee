import { create } from "@bufbuild/protobuf";
import {
  type Message,
  MessageSchema,
  Role,
  type SendMessageRequest,
  SendMessageRequestSchema,
  SendMessageResponseSchema,
  TaskPushNotificationConfigSchema,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { newId } from "../../core/ids.js";
import { given } from "../../core/options.js";
import { checkNamesAgent } from "./capability.js";
import { type Context, historyLength, type Run } from "./context.js";
import { Failure, usage } from "./errors.js";
import { EventPrinter, noteNoStream, readEvents } from "./events.js";
import { saveFiles } from "./files/save.js";
import type { PushWait } from "./listen/push-wait.js";
import { partsOf, payloadOf } from "./parts.js";
import { AnswerText, isQuiet, printAnswer } from "./quiet.js";
import { resumeWords } from "./resume.js";
import { isSettled, printOutcome, printTask, settled } from "./task-result.js";
import { messageText } from "./text.js";

/** `send`: sends a message, and prints the answer once the task is finished or needs its client. */
export const run: Run = async (context, [text]) => {
  checkNamesAgent(context, "send", text);
  const request = await requestOf(context, text);
  const { settings, out } = context;
  const quiet = isQuiet(context);
  const alone = ["push-port", "push-url"].find((name) => context.own(name).length > 0);
  if (alone !== undefined && context.own("push-listen").length === 0) throw usage(`--${alone} needs --push-listen`);
  if (out.mode.isVerbose && !quiet && !out.mode.isJson && request.message !== undefined) {
    out.text(messageText(request.message, true));
  }
  context.noteTask(request.message?.taskId ?? "", request.message?.contextId ?? "");
  const waits = !settings.async && settings.wait !== false;
  if (waits) context.startBudget();
  if (context.own("push-listen").length > 0) return sentWithPush(context, request, waits);
  if (settings.stream) await streamed(context, request);
  else await sent(context, request, waits);
};

/** Waits by push notifications instead of a stream or polls. */
async function sentWithPush(context: Context, request: SendMessageRequest, waits: boolean): Promise<void> {
  if (!waits || context.settings.stream) throw usage("--push-listen waits without --stream and --async");
  const { openPushWait } = await import("./listen/push-wait.js");
  const push = await openPushWait(context);
  try {
    await sent(context, request, waits, push);
  } finally {
    await push.close();
  }
}

async function sent(context: Context, request: SendMessageRequest, waits: boolean, push?: PushWait): Promise<void> {
  const { signal, out } = context;
  const { client } = await context.agent();
  const isNew = request.message?.taskId === "";
  const configuration = request.configuration ?? { acceptedOutputModes: [] };
  // The id of a new task is wanted at once. An answer to an existing task would show it as it was before the message.
  const returnImmediately = isNew || !waits;
  const { payload } = await client.sendMessage(
    {
      ...request,
      configuration: {
        ...configuration,
        returnImmediately,
        ...given({ taskPushNotificationConfig: push && create(TaskPushNotificationConfigSchema, push.config) }),
      },
    } as SendMessageRequest,
    { signal },
  );
  if (payload.case === undefined) {
    throw new Failure("InvalidAgentResponseError", "The answer has neither a task nor a message.", { a2aCode: -32006 });
  }
  if (payload.case === "message") {
    printMessage(context, payload.value);
    return saveFiles(context, payload.value);
  }
  let task = payload.value;
  context.noteTask(task.id, task.contextId);
  if (waits && !isSettled(task)) {
    context.noteIds();
    if (context.settings.debug) out.note("debug: the task runs; waiting");
    const history = historyLength(context);
    task = await (push === undefined ? settled(context, task, history) : push.settled(task, history));
  }
  printTask(context, task, (json) => ({ task: json }));
  await saveFiles(context, task);
}

async function streamed(context: Context, request: SendMessageRequest): Promise<void> {
  const { signal } = context;
  const { client, canStream } = await context.agent();
  const { message = create(MessageSchema), configuration, metadata } = request;
  noteNoStream(context, canStream);
  const { historyLength, acceptedOutputModes } = configuration ?? {};
  const updates = client.stream(message, {
    signal,
    ...given({ metadata, historyLength, acceptedOutputModes }),
  });
  let direct: Message | undefined;
  const quiet = isQuiet(context) ? new AnswerText(context) : undefined;
  const printer = new EventPrinter(context);
  const task = await readEvents(context, updates, {
    isContinued: message.taskId !== "",
    see: (update) => quiet?.take(update),
    print: (event) => {
      if (quiet === undefined) printer.print(event);
      if (event.payload.case === "message") direct = event.payload.value;
    },
  })
    .catch((error: unknown) => {
      quiet?.end(undefined);
      throw error;
    })
    .finally(() => printer.end());
  const answer = task ?? direct;
  quiet?.end(answer);
  if (task !== undefined) printOutcome(context, task);
  if (answer !== undefined) await saveFiles(context, answer);
}

function printMessage(context: Context, message: Message): void {
  const { out } = context;
  if (out.mode.isJson) {
    return out.message(
      SendMessageResponseSchema,
      create(SendMessageResponseSchema, { payload: { case: "message", value: message } }),
    );
  }
  if (isQuiet(context)) return printAnswer(context, message);
  out.text(messageText(message, out.mode.isVerbose));
  if (message.contextId === "") return;
  // A direct answer has no task; the conversation continues by its context.
  const resume = resumeWords(context, ["send"], "--context-id", message.contextId);
  out.text(`Resume with: ${resume} "<text>"\n`);
}

/** Builds the request from text, parts and settings, before anything is called. @throws Failure */
async function requestOf(context: Context, text: string | undefined): Promise<SendMessageRequest> {
  const { settings } = context;
  const { taskId = "", contextId = "", metadata } = settings;
  const payload = context.own("request-payload").at(-1);
  if (payload !== undefined) return payloadOf(context, payload, text);
  const parts = await partsOf(context, text);
  if (parts.length === 0)
    throw usage("there is nothing to send", "give a text, --text-part, --file-part or --data-part");
  const message = create(MessageSchema, {
    messageId: context.own("message-id").at(-1) ?? newId(),
    role: Role.USER,
    taskId,
    contextId,
    parts,
  });
  return create(SendMessageRequestSchema, {
    message,
    configuration: historyLength(context),
    ...given({ metadata }),
  });
}
