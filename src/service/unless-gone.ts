import type { Departure } from "../core/departure.js";
import { A2AError } from "../core/error.js";
import type { Sent } from "../engine/engine.js";

/**
 * What became of a message, unless its client leaves before: an agent that ignores its signal would keep the call
 * open for nobody. A task that comes of it all the same goes on.
 *
 * @throws A2AError with reason CANCELLED when the client has left.
 */
export function unlessGone(client: Departure, sending: Promise<Sent>): Promise<Sent> {
  return new Promise((resolve, reject) => {
    let gone = false;
    const leave = (): void => {
      gone = true;
      reject(new A2AError("CANCELLED", "The client went away before the agent answered."));
    };
    const stay = client.onGone(leave);
    const answered = (sent: Sent): void => {
      stay();
      if (!gone) resolve(sent);
      else if (sent.kind === "task") sent.task.release();
    };
    sending.then(answered, (error) => {
      stay();
      reject(error);
    });
  });
}
