/** A place of the tour: what to do there, and the page of the console to open. */
interface Place {
  readonly title: string;
  readonly text: string;
  /** Name of the card of the agent to talk to, and the first message. */
  readonly talk?: { readonly agent: string; readonly say: string };
  /** A page of the console, below its address. */
  readonly page?: string;
}

/** The places of the tour, in order. */
export const places: readonly Place[] = [
  {
    title: "Ask, and watch the answer arrive",
    text: "Send the message. The state changes while the agent works, and the answer arrives in pieces.",
    talk: { agent: "Currency Agent", say: "How much is 100 USD in GBP?" },
  },
  {
    title: "Leave, and come back",
    text: "The agent asks which currency you mean. Reload the page before you answer: the conversation is still there.",
    talk: { agent: "Currency Agent", say: "How much is 10 USD?" },
  },
  {
    title: "Fill in a form",
    text: "The agent asks by a form. Leave a field empty to see the error beside it.",
    talk: { agent: "Reimbursement Agent", say: "Can you reimburse me $20 for my lunch with the clients?" },
  },
  {
    title: "Let agents work together",
    text: "The host asks the currency agent first, and then the expenses agent, whose form reaches you.",
    talk: { agent: "Host", say: "Reimburse my lunch for 20 EUR, I need it in USD first" },
  },
  {
    title: "Look behind a task",
    text: "Open the task of the host: its timeline, its log, the tasks of the other agents. Replay it from the start.",
    page: "operate/tasks",
  },
  {
    title: "Answer for somebody",
    text: "Tasks that wait for a person are in the inbox, and can be answered there.",
    page: "operate/inbox",
  },
  {
    title: "Compare versions of a file",
    text: "Send the message, then ask: Listen on port 8080 instead. The file has two versions, with their difference.",
    talk: { agent: "Coder Agent", say: "Create an HTTP server in TypeScript" },
  },
  {
    title: "Look at the server",
    text: "See what it does now: its executions, streams, limits and metrics.",
    page: "operate/server",
  },
];
