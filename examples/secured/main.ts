import { start } from "./server.js";

// In a clone, behind `npm ci`: npm run build && node --import tsx examples/secured/main.ts
const { url, issuer, nightlyKey, stop } = await start(Number(process.env.PORT ?? 8080));
const message = '{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"Whose?"}]}}';
const call = `curl ${url}/message:send -H 'content-type: application/json' -d '${message}'`;
const token = `curl -s '${issuer}/token?name=alice&scope=books.read'`;
process.stdout.write(`Alice, with a token of the issuer, which is good for the scope that was asked for:

  TOKEN=$(${token} | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')
  ${call} -H "authorization: Bearer $TOKEN"

The nightly run, with its key:

  ${call} -H 'x-api-key: ${nightlyKey}'

Without either the answer is 401, with a token of another scope 403. Ctrl-C ends both servers.
`);
process.once("SIGINT", () => void stop());
