import { start } from "./server.js";

// In a clone, behind `npm ci`: npm run build && node --import tsx examples/web/main.ts
const { url, agent, stop } = await start(3000, Number(process.env.PORT ?? 8080));
process.stdout.write(`A chat with the agent: ${url}/?agent=${encodeURIComponent(agent)}

Cut the network or reload the page while it writes: it goes on where it was. Ctrl-C ends both servers.
`);
process.once("SIGINT", () => void stop());
