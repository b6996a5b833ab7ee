/** Returns the flag of an option by its name in code: `--agent-card` for `agentCard`. */
export function flagOf(option: string): string {
  return `--${option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
