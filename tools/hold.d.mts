/**
 * Waits for a file that only one process can make, and that stands for what one does at a time. A process that is gone holds nothing.
 * @returns what removes it
 */
export function hold(path: string): Promise<() => void>;
