import { randomInt } from "node:crypto";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, type ModelMessage, Output } from "ai";
import { type Agent, AgentError, artifact, completed, type Turn, working } from "parley-a2a";
import { rejected } from "parley-a2a/events";
import { z } from "zod";
import { modelFor } from "../offline-model/model.js";
import { a2uiExtension, withA2ui } from "./a2ui.js";
import { rules } from "./rules.js";

const instructions =
  "You handle the reimbursement of employees' expenses. Extract the date (YYYY-MM-DD), the amount, the currency (three " +
  "letters of ISO 4217) and the purpose of the expense from the conversation. Use null for what was not said: never guess.";

const { model, ...address } = await modelFor(rules);
const openai = createOpenAI(address);

const Details = z.object({
  date: z.string().nullable(),
  amount: z.number().nullable(),
  currency: z.string().nullable(),
  purpose: z.string().nullable(),
});

/** The form of an expense. Its id cannot be replaced by another one. */
const expenseForm = (requestId: string) =>
  z.object({
    request_id: z.literal(requestId).default(requestId).meta({ title: "Request" }),
    date: z.iso.date().meta({ title: "Date of the expense" }),
    amount: z.number().positive().max(10_000).meta({ title: "Amount" }),
    currency: z
      .string()
      .regex(/^[A-Z]{3}$/, "Three capital letters, such as USD")
      .meta({ title: "Currency" }),
    purpose: z.string().min(1).max(200).meta({ title: "Purpose" }),
  });
type Expense = z.infer<ReturnType<typeof expenseForm>>;

const approvalForm = z.object({ approved: z.boolean().meta({ title: "Approved" }) });

/** An expense with the decision about it. */
interface Reimbursement extends Expense {
  readonly status: "approved" | "rejected";
}

/** The agent's memory of a conversation: its newest requests. */
interface Memory {
  readonly requests: readonly Reimbursement[];
}
const MAX_REQUESTS = 100;

/** Reads the details of an expense from the conversation, with a model. */
async function detailsIn(turn: Turn, step: string, per: "task" | "turn"): Promise<Partial<Expense>> {
  const talk = await turn.conversation.messages({ limit: 20 });
  const messages = talk
    .filter(({ text }) => text !== "")
    .map(({ role, text }): ModelMessage => ({ role: role === "user" ? role : "assistant", content: text }));
  const details = await turn.step(
    step,
    async (abortSignal) => {
      const output = Output.object({ schema: Details });
      return (await generateText({ model: openai(model), system: instructions, messages, output, abortSignal })).output;
    },
    { per },
  );
  return Object.fromEntries(Object.entries(details).filter(([, value]) => value !== null));
}

/** Answers a question about a request of this conversation, by default about the newest one. */
async function statusOf(turn: Turn, requestId: string | undefined): Promise<string> {
  const memory = await turn.conversation.state.get<Memory>();
  const request = memory?.requests.findLast(({ request_id }) => request_id === (requestId ?? request_id));
  if (request === undefined) throw new AgentError(`There is no request ${requestId ?? ""} in this conversation.`);
  const { amount, currency, purpose, status } = request;
  return `The reimbursement of ${amount} ${currency} for ${purpose} is ${status}.`;
}

const expenses: Agent = {
  card: {
    name: "Reimbursement Agent",
    description: "Handles the reimbursement of employees' expenses, with a form and an approval.",
    version: "1.0.0",
    capabilities: { extensions: [a2uiExtension] },
    defaultInputModes: ["text/plain", "application/json"],
    defaultOutputModes: ["text/plain", "application/json"],
    skills: [
      {
        id: "process_reimbursement",
        name: "Process Reimbursement Tool",
        description:
          "Helps with the reimbursement process for users given the amount and purpose of the reimbursement.",
        tags: ["reimbursement"],
        examples: ["Can you reimburse me $20 for my lunch with the clients?"],
      },
    ],
  },
  recover: "restart",
  checkOutputModes: true,
  async *execute(turn) {
    // The history of a task may begin with ended ones, which a client of A2A 0.1 continues.
    const begins = (await turn.conversation.messages({ limit: 2 })).every(({ messageId, taskId }) => {
      return taskId !== turn.taskId || messageId === turn.message.messageId;
    });
    if (begins && /request_id_\d{7}|\bstatus\b/i.test(turn.text)) {
      return yield completed(await statusOf(turn, /request_id_\d{7}/.exec(turn.text)?.[0]));
    }

    const requestId = await turn.step("request id", () => `request_id_${randomInt(1e6, 1e7)}`, { per: "task" });
    const form = expenseForm(requestId);
    const said = await detailsIn(turn, "model: details", "task");
    const complete = form.safeParse(said);
    const expense = complete.success
      ? complete.data
      : yield* turn.form(form, {
          text: "Please fill in the details of the expense.",
          data: { request_id: requestId, ...said },
          read: async () => ({ ...said, ...(await detailsIn(turn, "model: answer", "turn")) }),
        });
    const what = `${expense.amount} ${expense.currency} for ${expense.purpose}`;

    const { approved } = yield* turn.form(approvalForm, {
      name: "approval",
      text: `Approve the reimbursement of ${what}?`,
      read: (text) => (/^(yes|no)\b/i.test(text) ? { approved: /^yes/i.test(text) } : undefined),
    });

    yield working("Processing the reimbursement request...");
    const reimbursement: Reimbursement = { ...expense, status: approved ? "approved" : "rejected" };
    await turn.conversation.state.update<Memory>((before) => ({
      requests: [...(before?.requests ?? []), reimbursement].slice(-MAX_REQUESTS),
    }));
    yield artifact({ name: "reimbursement", data: { ...reimbursement } });
    if (approved) yield completed(`${what}: it will be paid to you.`);
    else yield rejected(`${what}: it was not approved.`);
  },
};

/** Reimburses expenses. The agent asks for missing details by a form, and then for an approval. */
export const agent: Agent = withA2ui(expenses);
