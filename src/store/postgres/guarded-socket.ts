import { Socket } from "node:net";

/**
 * The connection of the driver to a server. The driver reads in a listener, which throws for an answer that breaks the
 * protocol, such as that of another kind of server. The connection then fails; the exception would end the process.
 */
export class GuardedSocket extends Socket {
  override emit(event: string | symbol, ...args: unknown[]): boolean {
    if (event !== "data") return super.emit(event, ...args);
    try {
      return super.emit(event, ...args);
    } catch (cause) {
      this.destroy(new Error("The answer breaks the protocol of PostgreSQL.", { cause }));
      return true;
    }
  }
}
