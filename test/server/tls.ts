import { readFileSync } from "node:fs";

const file = (name: string): string => readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url), "utf8");

/**
 * A certificate for localhost, 127.0.0.1 and ::1 that signs itself, with its key, for tests alone. Good from 2020 to
 * 2120, so that neither the clock of the machine nor time passing breaks a test.
 */
export const testTls: { key: string; cert: string } = { key: file("key.pem"), cert: file("cert.pem") };
