<?php

declare(strict_types=1);

namespace App\Http;

use App\Http\Request;
use App\Support\{Arr, Str as Text};
use function App\view;

require_once __DIR__ . '/helpers.php';

const VERSION = '1.0';

interface Handler
{
    public function handle(Request $request): Response;
}

trait Loggable
{
    protected function log(string $line): void
    {
        error_log($line);
    }
}

enum Method: string
{
    case Get = 'GET';
    case Post = 'POST';
}

/**
 * Finds who handles a request.
 */
final class Router extends Base implements Handler
{
    use Loggable;

    private const LIMIT = 10;

    private array $routes = [];

    public function __construct(private readonly Container $container)
    {
        parent::__construct();
    }

    /** Adds a route. */
    public function add(Method $method, string $path, callable $handler): static
    {
        $this->routes[$method->value][Text::lower($path)] = $handler;
        $this->log("added $path");

        return $this;
    }

    public function handle(Request $request): Response
    {
        $handler = Arr::get($this->routes, $request->method());

        return $handler ? $handler($request) : new Response(view('404'), 404);
    }
}

function route(string $name): string
{
    return strtolower($name);
}
