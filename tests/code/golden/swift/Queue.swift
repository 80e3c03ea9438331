import Foundation
import struct Dispatch.DispatchTime

/// How many are kept.
let capacityMax = 64

typealias Handler = (Item) -> Void

protocol Storage: AnyObject {
    associatedtype Element
    var count: Int { get }
    func append(_ element: Element) throws
}

enum QueueError: Error {
    case full
    case closed(reason: String)

    var message: String {
        return "no"
    }
}

/// Something to do.
struct Item: Codable {
    let name: String
    var attempts = 0

    init(name: String) {
        self.name = name
    }

    mutating func retry() -> Bool {
        attempts += 1
        return attempts < Limits.max
    }
}

@objc
final class Queue<T>: NSObject, Storage {
    private var items: [T] = []

    deinit {
        close()
    }

    // Adds one.
    @discardableResult
    func append(_ element: T) throws -> Int {
        guard items.count < capacityMax else { throw QueueError.full }
        items.append(element)
        handler?.changed(element)
        return items.count
    }

    subscript(index: Int) -> T {
        return items[index]
    }

    static func == (left: Queue, right: Queue) -> Bool {
        return left === right
    }
}

extension Queue where T == Item {
    func retryAll() {
        items.forEach { $0.retry() }
    }
}

actor Counter {
    var value = 0
    func increment() { value += 1 }
}

func main() {
    let queue = Queue<Item>()
    func run(_ name: String) {
        try? queue.append(Item(name: name))
    }
    run("a")
    print(queue.count)
}
