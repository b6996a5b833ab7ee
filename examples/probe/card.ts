import type { AgentCardInput } from "parley-a2a";

const skill = (id: string, description: string, ...examples: string[]) => ({
  id,
  name: `${id.charAt(0).toUpperCase()}${id.slice(1)}`,
  description,
  tags: ["probe"],
  examples,
});

/** The card of the probe. It has one skill for each word that the probe knows. */
export const card: AgentCardInput = {
  name: "Probe",
  description: "Does what the first word of a message says, to try servers and clients with. Unknown words are echoed.",
  version: "1.0.0",
  defaultInputModes: ["text/plain", "text/*", "application/json", "application/octet-stream", "image/*"],
  defaultOutputModes: ["text/plain", "application/json", "application/octet-stream"],
  skills: [
    skill("echo", "Answers with an artifact that says what the message says.", "echo hello"),
    skill("say", "Answers with a message, without a task.", "say hello"),
    {
      ...skill(
        "stream",
        "stream <chunks> [bytes] [delay in ms]: an artifact in so many chunks.",
        "stream 5 32 500",
        "stream 1000",
      ),
      tags: ["probe", "streaming"],
    },
    skill("wait", "wait <ms>: works for that time, can be canceled, and goes on after a crash.", "wait 5000"),
    skill("ask", "ask <question>: needs input; the message that follows up is the answer.", "ask Which colour?"),
    skill("auth", "Needs authorization; goes on with the message that follows up.", "auth"),
    skill("reject", "reject <why>: declines the task.", "reject Not today."),
    skill("fail", "fail <why>: fails with a text that is meant for the client.", "fail The printer is on fire."),
    skill("crash", "Fails in a way that the client must not learn more of.", "crash"),
    skill("file", "file <name> <bytes>: an artifact with a file.", "file probe.bin 64"),
    skill("url", "url <url>: an artifact that refers to a file.", "url https://example.org/"),
    skill("data", "data <json>: an artifact with structured data.", 'data {"answer": 42}'),
    skill("history", "An artifact with the ids of the messages so far.", "history"),
  ],
};
