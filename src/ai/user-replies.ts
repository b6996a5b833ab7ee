import type { JsonValue } from "@bufbuild/protobuf";
import type { ToolCallPart, ToolSet } from "ai";
import { type Message, Role } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type Turn, turnWith } from "../agent/agent.js";
import { FormDeclined } from "../agent/errors.js";
import { type AgentEvent, inputRequired } from "../agent/event.js";
import { checkAnswer, checkSchema } from "../agent/form-check.js";
import { type FormSchema, jsonSchemaOf, type StandardSchema } from "../agent/schema.js";
import { isRecord } from "../core/members.js";
import { partsOf, textOf } from "../task/plain.js";
import { parsedJson } from "../wire/parsed-json.js";
import { type Approval, approvalForm, readApproval, YES_OR_NO } from "./approval.js";
import { formOf } from "./ask-user.js";
import { type TalkMessage, talkMessage } from "./talk.js";
import type { ToolOutput } from "./tool-calls.js";

/** The user's answer to a tool call. */
export interface ToolReply {
  readonly output: ToolOutput;
  /** Messages after the result, with content that a tool's result cannot hold, such as files. */
  readonly more: readonly TalkMessage[];
}

/** The user's messages in a task: the first one, and answers to questions. */
export class UserReplies {
  readonly #turn: Turn;
  #own: Promise<readonly Message[]> | undefined;

  constructor(turn: Turn) {
    this.#turn = turn;
  }

  /** Returns the id of the message that began the task. */
  async firstId(): Promise<string> {
    const [first = this.#turn.message] = await this.#messages();
    return first.messageId;
  }

  /** Returns the message that began the task. */
  async first(): Promise<TalkMessage> {
    const [first = this.#turn.message] = await this.#messages();
    return userMessage(first);
  }

  /** Returns the messages up to that of the turn. Each began one turn. */
  #messages(): Promise<readonly Message[]> {
    this.#own ??= userMessages(this.#turn);
    return this.#own;
  }

  /** Returns the user's message after this point of the task. Undefined if it has not arrived: the turn has to end. */
  async next(): Promise<TalkMessage | undefined> {
    const message = await this.#next();
    return message && userMessage(message);
  }

  /**
   * Returns the user's message after this point of the task. A step stores which message that is: the number of
   * questions does not tell, because questions of other agents, to which tools delegate, end turns as well.
   */
  async #next(): Promise<Message | undefined> {
    const messages = await this.#messages();
    const turns = await this.#turn.step("turn", () => messages.length, { per: "task" });
    return messages[turns];
  }

  /** Asks the user for the result of a tool without `execute`. Returns undefined if the turn has to end. */
  async *result(
    call: ToolCallPart,
    tool: ToolSet[string] | undefined,
  ): AsyncGenerator<AgentEvent, ToolReply | undefined, undefined> {
    const question = questionIn(call);
    const form = tool && formOf(tool);
    if (form === undefined) {
      const answer = await this.#next();
      if (answer !== undefined) return this.#replyOf(answer, question);
      yield inputRequired(question);
      return undefined;
    }
    try {
      const answer = yield* formOrWords(this.#turn, form, question);
      const value: unknown = "data" in answer ? answer.data : answer;
      return { output: { type: "json", value: JSON.parse(JSON.stringify(value)) as JsonValue }, more: [] };
    } catch (error) {
      if (!(error instanceof FormDeclined)) throw error;
      return { output: { type: "error-text", value: "The user declined to answer." }, more: [] };
    }
  }

  /** Returns the reply in a message. A message that was accepted before the question was stored does not answer it. */
  #replyOf(message: Message, question: string): ToolReply {
    const history = this.#turn.task?.history ?? [];
    const before = history[history.findIndex(({ messageId }) => messageId === message.messageId) - 1];
    const isAnswer = before?.role === Role.AGENT && textOf(before) === question;
    const answer = userMessage(message);
    return isAnswer ? replyOf(answer) : { output: { type: "text", value: UNANSWERED }, more: [answer] };
  }

  /** Asks the user whether a tool may be called. */
  async *approval({ toolName, input }: ToolCallPart): AsyncGenerator<AgentEvent, Approval, undefined> {
    const text = `May the tool ${toolName} be called with ${JSON.stringify(input)}? ${YES_OR_NO}`;
    try {
      return yield* this.#turn.form(approvalForm, { text, name: "approval", read: readApproval });
    } catch (error) {
      if (!(error instanceof FormDeclined)) throw error;
      return { allowed: false };
    }
  }
}

async function userMessages(turn: Turn): Promise<readonly Message[]> {
  const all = turn.task?.history.filter(({ role }) => role === Role.USER) ?? [];
  const own = all.findIndex(({ messageId }) => messageId === turn.message.messageId);
  const messages = own < 0 ? [...all, turn.message] : all.slice(0, own + 1);
  // The history of a task whose client named it (A2A 0.1) begins with the messages of ended tasks that it continues.
  if (turn.message.taskId === turn.taskId) return messages;
  const first = await firstMessageId(turn);
  return messages.slice(
    Math.max(
      0,
      messages.findIndex(({ messageId }) => messageId === first),
    ),
  );
}

/** Returns the id of the user's first message in the task. */
async function firstMessageId(turn: Turn): Promise<string> {
  let first = turn.message.messageId;
  for (let before: string | undefined; ; ) {
    const page = await turn.conversation.messages(before === undefined ? {} : { before });
    const own = page.filter(({ taskId }) => taskId === turn.taskId);
    first = own.find(({ role }) => role === "user")?.messageId ?? first;
    before = page[0]?.cursor;
    if (own.length === 0) return first;
  }
}

const UNANSWERED = "The user has not answered yet. The next message was written before the question.";

/** Returns the question of a call: its argument of that or a similar name, or else the whole call. */
function questionIn({ toolName, input }: ToolCallPart): string {
  const { question, message, text, prompt } = isRecord(input) ? input : {};
  const found = [question, message, text, prompt].find((each) => typeof each === "string" && each !== "");
  return typeof found === "string" ? found : `${toolName}: ${JSON.stringify(input)}`;
}

function userMessage(message: Message): TalkMessage {
  return talkMessage({ role: "user", parts: partsOf(message) });
}

function replyOf({ role, parts }: TalkMessage): ToolReply {
  const texts = parts.filter((part) => "text" in part);
  const files = parts.filter((part) => "file" in part);
  const output: ToolOutput = { type: "text", value: textOf({ parts: texts }) };
  return { output, more: files.length === 0 ? [] : [{ role, parts: files }] };
}

/** An answer for the model: the form's valid data, or the user's words. */
type FormOrWords = { readonly data: unknown } | { readonly said: string };

/** Asks for a form by `turn.form`. Accepts a text that does not fit the form too, as the user's words for the model. */
async function* formOrWords(
  turn: Turn,
  form: FormSchema,
  question: string,
): AsyncGenerator<AgentEvent, FormOrWords, undefined> {
  await checkSchema(form);
  const read = (text: string): string | undefined => (text.trim() === "" ? undefined : text);
  return yield* withWords(turn).form(wordsOr(form), { text: question, read });
}

/** Keeps texts such as "5.0", which are also JSON, as words: parsing them as numbers would change the user's text. */
function withWords(turn: Turn): Turn {
  const value = parsedJson(turn.text);
  const isWords = value !== undefined && (typeof value !== "object" || value === null);
  return isWords ? turnWith(turn, { text: JSON.stringify(turn.text) }) : turn;
}

function wordsOr(form: FormSchema): StandardSchema<unknown, FormOrWords> {
  return {
    "~standard": {
      version: 1,
      vendor: "parley",
      jsonSchema: { input: () => jsonSchemaOf(form) },
      validate: async (answer) => {
        const value = answer as JsonValue;
        const text = typeof value === "string" ? value : undefined;
        const inText = text === undefined ? undefined : parsedJson(text);
        const fromText = inText === undefined ? undefined : await checkAnswer(form, inText);
        if (fromText !== undefined && "value" in fromText) return { value: { data: fromText.value } };
        const checked = await checkAnswer(form, value);
        if ("value" in checked) return { value: { data: checked.value } };
        if (text !== undefined) return { value: { said: text } };
        return {
          issues: checked.violations.map(({ field, description }) => ({ message: description, path: [field] })),
        };
      },
    },
  };
}
