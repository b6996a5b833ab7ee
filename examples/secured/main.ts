import { start } from "./server.js";

// After `npm run build`: node dist/examples/secured/main.js
const { url, issuer, stop } = await start(8080);
const body = '{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"Whose?"}]}}';
process.stdout.write(`A token:  curl "${issuer}/token?name=alice&scope=books.read"
A call:   curl ${url}/message:send -H "authorization: Bearer $TOKEN" -H "content-type: application/json" -d '${body}'
Without the token it is answered with 401, with one of another scope with 403.
`);
process.once("SIGINT", () => void stop());
