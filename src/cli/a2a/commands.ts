import { examineRows } from "./commands/examine.js";
import type { CommandRow, OwnOption } from "./commands/row.js";

const alias = (flags: string, of: string): OwnOption => ({ flags, help: `same as ${of}`, isHidden: true });
const history: OwnOption = {
  flags: "--history <n>",
  help: "messages of the history in the answer, newest; 0 for none",
};

const quiet: OwnOption = { flags: "-q, --quiet", help: "print the answer alone, for a pipe; the rest goes to stderr" };

const saveFiles: readonly OwnOption[] = [
  { flags: "--save-fileparts <folder>", help: "save the files of the answer in a folder" },
];
const saving: readonly OwnOption[] = [
  { flags: "--force", help: "replace files of the same name, instead of adding a number" },
  { flags: "--fetch-urls", help: "also fetch the files that the agent names by URL, from public addresses" },
  { flags: "--fetch-host <host>", help: "fetch from this host at any address; may be repeated" },
];

const sendHelp = `
The text and the parts form one message, in their order: first the text, then the parts as they stand. With - the text or data is
read from stdin. Files are sent in the message, URLs (http, https, s3, gs, ftp, ftps) as they are.
`;

const scheme: OwnOption = { flags: "--scheme <name>", help: "only this security scheme of the card" };

const loginHelp = `
Secrets are typed at a prompt that does not show them, or read from stdin (--stdin). The secret of a client may also be in
A2ACLI_CLIENT_SECRET. A stored credential is sent to the interfaces of this agent only.
`;

const agentsHelp = `
The agent is a host, the URL of its card, or a file. A name comes before a file and a host that are spelled alike: write ./name for
the file, https://name for the host. Names are in ~/.config/a2a-cli/agents.txt, without secrets.
`;

const completionHelp = `
Load the script when a shell starts:
  bash  eval "$(parley completion bash)"                              in ~/.bashrc
  zsh   eval "$(parley completion zsh)"                               in ~/.zshrc
  fish  parley completion fish > ~/.config/fish/completions/parley.fish
`;

/** States of tasks, as users write them. */
const states = [
  "submitted",
  "working",
  "input-required",
  "auth-required",
  "completed",
  "failed",
  "canceled",
  "rejected",
];

const pushNote = "visible in the process list and shell history";

const listenHelp = `
Without --token, --server, --secret-file and --public-key a token is made and shown, and the agent has to send it. A notification
that fails at --forward is refused, so that its sender tries again.
`;

const chatHelp = `
/help lists the commands of a chat. Ctrl-C during an answer cancels the task, and the second one stops waiting. Without a terminal
the text is sent as one message, and its answer printed.
`;

const recordHelp = `
It talks as chat does. Without a terminal the text is the only turn, or each line of stdin is one. The file has one line of JSON for
each turn: the message, and what the answer holds. It has no credentials, and files that the agent sent only by their hash.
"parley console --recording <file>" opens it in a browser, to read and replay it.
`;

const replayHelp = `
Ids, times and the pieces of streams are not compared. The exit code is 1 if an answer differs. Models answer differently each time:
--shape compares what can be the same.
`;

const callHelp = `
The method is one of A2A's service, such as GetTask or SendStreamingMessage. The request is JSON, a file, or - for stdin. The
response is JSON; a method that streams prints one object in each line.
`;

export const commandRows: readonly CommandRow[] = [
  {
    words: "send",
    examples: [
      'send -a localhost:8080 "echo hello"',
      'send -a localhost:8080 "echo hello" --stream',
      'send -a localhost:8080 -q "say hello"',
    ],
    operands: "[text]",
    about: "send a message, and wait for the answer",
    streams: true,
    options: [
      { flags: "--text-part <text>", help: "add a text; - for stdin" },
      { flags: "--file-part <path or url>", help: "add a file, or the URL of one" },
      { flags: "--data-part <file or json>", help: "add data: a JSON file, JSON, or - for stdin" },
      { flags: "--media-type <type>", help: "media type of the part before it" },
      history,
      quiet,
      { flags: "--message-id <id>", help: "id of the message, to send the same one again" },
      { flags: "--request-payload <file or json>", help: "a whole SendMessageRequest instead of parts" },
      { flags: "--push-listen", help: "wait by push notifications, at a webhook of this command" },
      { flags: "--push-url <url>", help: "URL by which an agent on another machine reaches that webhook" },
      { flags: "--push-port <n>", help: "port of the webhook, if it is not that of --push-url" },
      ...saveFiles,
      ...saving,
      alias("--text <text>", "--text-part"),
      alias("--file <path or url>", "--file-part"),
      alias("--data <file or json>", "--data-part"),
    ],
    after: sendHelp,
    load: () => import("./send.js"),
  },
  {
    words: "task get",
    examples: ["task get TASK -a localhost:8080", "task get TASK -a localhost:8080 --wait -o json"],
    operands: "<taskId>",
    about: "show a task, or wait for it (--wait)",
    streams: true,
    options: [history, quiet, ...saveFiles, ...saving],
    load: async () => ({ run: (await import("./tasks.js")).get }),
  },
  {
    words: "task list",
    examples: ["task list -a localhost:8080 --status completed --limit 5"],
    about: "list tasks, a page at a time",
    streams: true,
    options: [
      {
        flags: "--status <state>",
        help: "only tasks in this state, such as working or input-required",
        values: states,
      },
      { flags: "--limit <n>", help: "tasks of a page, 1 to 100" },
      { flags: "--page-token <token>", help: "token of the page to show, as the previous page prints it" },
      { flags: "--since <time>", help: "only tasks that have changed since, as 2026-01-31T12:00:00Z" },
      { flags: "--with-artifacts", help: "include artifacts" },
      { flags: "--all", help: "show all pages" },
      history,
      alias("--context <id>", "--context-id"),
      alias("--page-size <n>", "--limit"),
    ],
    load: async () => ({ run: (await import("./tasks.js")).list }),
  },
  {
    words: "task cancel",
    examples: ["task cancel TASK -a localhost:8080"],
    operands: "<taskId>",
    about: "cancel a task",
    streams: true,
    load: async () => ({ run: (await import("./tasks.js")).cancel }),
  },
  {
    words: "task subscribe",
    examples: ["task subscribe TASK -a localhost:8080"],
    operands: "<taskId>",
    about: "follow a task until it is finished or needs an answer",
    streams: true,
    options: [quiet, ...saveFiles, ...saving],
    load: async () => ({ run: (await import("./tasks.js")).subscribe }),
  },
  {
    words: "task download",
    examples: ["task download TASK -a localhost:8080 --output-dir files"],
    operands: "<taskId>",
    about: "save the artifacts of a task as files",
    options: [
      { flags: "--output-dir <folder>", help: "folder of the files (default: the working directory)" },
      { flags: "--artifact <id>", help: "only this artifact; may be repeated" },
      ...saving,
    ],
    load: async () => ({ run: (await import("./tasks.js")).download }),
  },
  {
    words: "task push-config create",
    operands: "<taskId> [url]",
    about: "have the agent notify a webhook of a task",
    options: [
      { flags: "--url <url>", help: "URL of the webhook" },
      { flags: "--id <id>", help: "id of the configuration (default: the agent chooses)" },
      { flags: "--token <token>", help: `token that the agent sends with each notification; ${pushNote}` },
      { flags: "--auth-scheme <scheme>", help: "how the agent authenticates at the webhook, such as Bearer" },
      {
        flags: "--auth-credentials <text>",
        help: "credentials for it; - for stdin (env: A2ACLI_AUTH_CREDENTIALS)",
      },
    ],
    load: async () => ({ run: (await import("./push-config.js")).create }),
  },
  {
    words: "task push-config get",
    operands: "<taskId> <configId>",
    about: "show a push configuration of a task",
    load: async () => ({ run: (await import("./push-config.js")).get }),
  },
  {
    words: "task push-config list",
    operands: "<taskId>",
    about: "list the push configurations of a task, a page at a time",
    options: [
      { flags: "--limit <n>", help: "configurations of a page, 1 to 100" },
      { flags: "--page-token <token>", help: "token of the page to show, as the previous page prints it" },
    ],
    load: async () => ({ run: (await import("./push-config.js")).list }),
  },
  {
    words: "task push-config delete",
    operands: "<taskId> <configId>",
    about: "remove a push configuration of a task",
    load: async () => ({ run: (await import("./push-config.js")).remove }),
  },
  {
    words: "listen",
    about: "receive push notifications, verify and print them",
    options: [
      { flags: "--host <host>", help: "address to listen at (default: 127.0.0.1)" },
      { flags: "--port <n>", help: "port (default: a free one)" },
      { flags: "--path <path>", help: "path of the webhook (default: /)" },
      { flags: "--url <url>", help: "URL by which agents reach it, which their signatures name" },
      { flags: "--token <token>", help: `accept this token (env: A2ACLI_PUSH_TOKEN); ${pushNote}` },
      { flags: "--server <url>", help: "accept what this Parley server signs; may be repeated" },
      { flags: "--secret-file <file>", help: "accept signatures by this secret of Standard Webhooks" },
      { flags: "--public-key <key>", help: "accept signatures by this key of Standard Webhooks, whpk_…" },
      { flags: "--forward <url>", help: "pass notifications on, as they arrived" },
      { flags: "--record <file>", help: "add notifications to a file, without credentials" },
      { flags: "--replay <file>", help: "send the notifications of a file to --forward, and end" },
    ],
    after: listenHelp,
    load: () => import("./listen/listen.js"),
  },
  {
    words: "chat",
    examples: ['chat "echo hello" -a localhost:8080'],
    operands: "[text]",
    about: "talk with an agent in the terminal",
    options: [...saveFiles, ...saving],
    after: chatHelp,
    load: () => import("./chat/chat.js"),
  },
  {
    words: "record",
    examples: ['record hello.jsonl "echo hello" -a localhost:8080'],
    operands: "<file> [text]",
    about: "talk with an agent, and record the conversation in a file",
    options: [{ flags: "--force", help: "replace the file" }, ...saveFiles],
    after: recordHelp,
    load: () => import("./record/record.js"),
  },
  {
    words: "replay",
    examples: ["replay hello.jsonl -a localhost:8080 --shape"],
    operands: "<file>",
    about: "send the messages of a recording again, and compare the answers",
    options: [
      { flags: "--shape", help: "compare states, names and kinds of parts, not what they hold" },
      { flags: "--update", help: "write the new answers into the file" },
    ],
    after: replayHelp,
    load: () => import("./record/replay.js"),
  },
  {
    words: "call",
    examples: [`call ListTasks '{"pageSize":5}' -a localhost:8080`],
    operands: "<method> [json]",
    about: "call any method of the protocol with a request in JSON",
    after: callHelp,
    load: () => import("./call.js"),
  },
  {
    words: "card get",
    examples: ["card get localhost:8080", "card get localhost:8080 --validate"],
    operands: "[ref]",
    about: "show the card of an agent",
    streams: true,
    options: [
      { flags: "--validate", help: "report everything in which the card violates the specification" },
      { flags: "--extended", help: "show the card for authenticated callers" },
    ],
    load: () => import("./card-get.js"),
  },
  {
    words: "auth login",
    about: "log in at an agent, and store its token or key",
    options: [
      {
        flags: "--flow <name>",
        help: "device, code, client-credentials, bearer, api-key or basic; as the card says",
        values: ["device", "code", "client-credentials", "bearer", "api-key", "basic"],
      },
      scheme,
      { flags: "--client-id <id>", help: "OAuth: the client that the issuer knows (env: A2ACLI_CLIENT_ID)" },
      { flags: "--scope <scope>", help: "OAuth: ask for this scope as well, such as offline_access; may be repeated" },
      { flags: "--issuer <url>", help: "OAuth: the issuer, instead of the one that the card names" },
      { flags: "--resource <url>", help: "OAuth: resource that the token is for" },
      { flags: "--audience <name>", help: "OAuth: audience that the token is for" },
      { flags: "--open", help: "code: open the issuer's page in a browser" },
      {
        flags: "--redirect-uri <url>",
        help: "code: where the browser returns to on this machine; http://127.0.0.1/callback, at any port",
      },
      { flags: "--user <name>", help: "basic: name of the user" },
      { flags: "--stdin", help: "read the token, key, password or secret of the client from stdin" },
    ],
    after: loginHelp,
    load: () => import("./auth/login.js"),
  },
  {
    words: "auth status",
    about: "show the stored logins, without their secrets",
    options: [scheme],
    load: async () => ({ run: (await import("./auth/logins.js")).status }),
  },
  {
    words: "auth logout",
    about: "remove stored logins",
    options: [scheme, { flags: "--all", help: "remove the logins of all agents" }],
    load: async () => ({ run: (await import("./auth/logins.js")).logout }),
  },
  {
    words: "agents add",
    examples: ["agents add echo localhost:8080"],
    operands: "<name> <ref>",
    about: "name an agent, for use wherever an agent is named",
    options: [{ flags: "--force", help: "replace the agent of this name" }],
    after: agentsHelp,
    load: async () => ({ run: (await import("./agents/agents.js")).add }),
  },
  {
    words: "agents list",
    about: "show the address book",
    load: async () => ({ run: (await import("./agents/agents.js")).list }),
  },
  {
    words: "agents show",
    operands: "<agent>",
    about: "show a named agent",
    load: async () => ({ run: (await import("./agents/agents.js")).show }),
  },
  {
    words: "agents remove",
    operands: "<agent>",
    about: "forget a named agent",
    load: async () => ({ run: (await import("./agents/agents.js")).remove }),
  },
  {
    words: "agents rename",
    operands: "<agent> <name>",
    about: "rename a named agent",
    load: async () => ({ run: (await import("./agents/agents.js")).rename }),
  },
  ...examineRows,
  {
    words: "config show",
    about: "show all settings and their origins",
    load: async () => ({ run: (await import("./about.js")).configShow }),
  },
  {
    words: "completion",
    operands: "<shell>",
    values: ["bash", "zsh", "fish"],
    about: "print a script that completes commands, options and their values",
    after: completionHelp,
    load: () => import("./completion/completion.js"),
  },
  { words: "version", about: "show the version", load: async () => ({ run: (await import("./about.js")).version }) },
];

export const groups: Readonly<Record<string, string>> = {
  task: "show, follow and cancel tasks of an agent",
  "task push-config": "have an agent notify webhooks of a task",
  card: "show agent cards, sign them, and verify their signatures",
  agents: "an address book: name agents, and use the names with -a",
  auth: "log in at agents, and show or remove stored logins",
  config: "show the settings of the commands that call agents",
};
