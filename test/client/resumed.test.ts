import { describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent } from "../../src/agent/agent.js";
import { artifact, completed, inputRequired } from "../../src/agent/event.js";
import { chatTransport, type UIMessageLike } from "../../src/client/ai-sdk/index.js";
import type { A2AClient } from "../../src/client/common.js";
import type { ConversationStorage } from "../../src/client/follow/conversation.js";
import { ConversationStore } from "../../src/client/react/conversation-store.js";
import { Gates } from "../support/gates.js";
import { connect, serve } from "./world.js";

/** Asks for a name, and greets. Each step waits for its gate. */
function greeter(gates: Gates): Agent {
  return {
    card: { name: "Greeter", description: "Asks before it greets.", version: "1.0.0" },
    async *execute({ text }) {
      if (text === "hello") yield artifact({ name: "greeting", text: "Hello, " });
      await gates.pass(text);
      if (text === "hello") return yield inputRequired("Who?");
      yield artifact({ name: "answer", text: `${text}!` });
      yield completed();
    },
  };
}

interface Page {
  /** Sends a text, and leaves the page when the task has an id. */
  sayAndLeave(text: string): Promise<void>;
  /** Shows the conversation again. Returns the text of the answer when it is complete. */
  comeBack(): Promise<string>;
}

const pages: Readonly<Record<string, (client: A2AClient, storage: ConversationStorage) => Page>> = {
  "useConversation()": (client, storage) => {
    let store = new ConversationStore(client, storage, "chat");
    let leave = store.attach();
    return {
      sayAndLeave: async (text) => {
        expect(store.send(text)).toBe(true);
        await expect.poll(() => store.view().turns.at(-1)?.taskId).toBeDefined();
        leave();
      },
      comeBack: async () => {
        store = new ConversationStore(client, storage, "chat");
        leave = store.attach();
        await expect.poll(() => store.view().isStreaming).toBe(false);
        return store.view().turns.at(-1)?.text ?? "";
      },
    };
  },
  "chatTransport()": (client, storage) => {
    const chatId = "chat";
    const abortSignal = undefined;
    const messages: UIMessageLike[] = [];
    return {
      sayAndLeave: async (text) => {
        messages.push({ id: text, role: "user", parts: [{ type: "text", text } as { type: string }] });
        const reader = (
          await chatTransport(client, { storage }).sendMessages({ chatId, messages, abortSignal })
        ).getReader();
        expect((await reader.read()).value?.type).toBe("start");
        await reader.cancel();
      },
      comeBack: async () => {
        let text = "";
        for await (const chunk of (await chatTransport(client, { storage }).reconnectToStream({ chatId })) ?? []) {
          if (chunk.type === "text-delta") text += chunk.delta;
          if (chunk.type !== "finish") continue;
          messages.push({ id: chatId, role: "assistant", parts: [], metadata: chunk.messageMetadata });
        }
        return text;
      },
    };
  },
};

describe.each(Object.entries(pages))("a conversation of %s", (_name, open) => {
  it("can be continued where the agent has asked while the page was away", async () => {
    const gates = new Gates();
    const { url } = await serve({ agent: greeter(gates) });
    const client = await connect(url);
    const kept = new Map<string, string>();
    const page = open(client, {
      getItem: (key) => kept.get(key) ?? null,
      setItem: (key, value) => void kept.set(key, value),
      removeItem: (key) => void kept.delete(key),
    });
    await page.sayAndLeave("hello");
    gates.open("hello");
    const state = async () => (await client.listTasks({})).tasks[0]?.status?.state;
    await expect.poll(state).toBe(TaskState.INPUT_REQUIRED);
    expect(await page.comeBack()).toMatch(/^Hello, \n?Who\?$/);

    // The task still shows the question while the agent works on the answer.
    await page.sayAndLeave("world");
    const answer = page.comeBack();
    await gates.reached("world");
    gates.open("world");
    expect(await answer).toContain("world!");
  });
});
