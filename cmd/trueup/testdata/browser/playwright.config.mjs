import { defineConfig } from '@playwright/test';

// Debian's Chromium, as root in a container, and with nothing that looks for a network.
export default defineConfig({
  testMatch: '*.spec.mjs',
  workers: 2,
  fullyParallel: true,
  timeout: 240_000,
  reporter: 'line',
  use: {
    timezoneId: 'UTC',
    launchOptions: {
      executablePath: process.env.CHROMIUM,
      args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
        '--disable-component-update', '--disable-sync'],
    },
  },
});
